#!lua flags=allow-oom
-- Sets the oldest day that a subscriber keeps, and moves the lines of the days before it to its
-- expired lines: at most 100 days. From then on no report has their cells, and fold.lua adds none.
-- drop.lua deletes them.
-- KEYS: the declared keys; accounts is that of the totals of the accounts
-- ARGV: oldest day that is to be kept
-- Returns 1, also if a later day is the oldest one already, or there is no such subscriber; 0 if
-- days are left: call it again.
-- @include channel
-- @include account
local oldest = ARGV[1]
local have, version = unpack(call('HMGET', SUBSCRIBER, 'oldest', 'v'))
if not version or (have and have >= oldest) then return 1 end
local max = 100
local days = call('ZRANGEBYLEX', DAYS, '-', '(' .. oldest, 'LIMIT', 0, max + 1)
local left = days[max + 1]
days[max + 1] = nil
local lines = {0, 0, 0, 0}
for _, day in ipairs(days) do
  local members = {}
  for i, name in ipairs(names_of_account) do members[i] = day .. ' ' .. name end
  for i, n in ipairs(call('ZMSCORE', ACCOUNTS, unpack(members))) do lines[i] = lines[i] + (n or 0) end
  call('ZREM', ACCOUNTS, unpack(members))
  call('ZREM', DAYS, day)
end
for i, name in ipairs(names_of_account) do expire_lines(name, lines[i]) end
call('HSET', SUBSCRIBER, 'oldest', left or oldest)
return left and 0 or 1
