#!lua flags=allow-oom
-- Deletes cells of days before the oldest one that a subscriber keeps.
-- KEYS: the declared keys, then the totals key of each group, at most 100
-- ARGV: oldest day: the groups are of days before it; '1': no others are left; groups
-- Returns 1, or 0 if the subscriber keeps older days, or there is none; -1 while a report reads
-- the totals.
-- @include channel
local oldest, last = unpack(ARGV, 1, 2)
local have = call('HGET', SUBSCRIBER, 'oldest')
if not have or have < oldest then return 0 end
if call('ZCOUNT', READERS, '(' .. int(clock_ms()), '+inf') > 0 then return -1 end
for i = 3, #ARGV do
  call('UNLINK', KEYS[i + 2]) -- behind the declared ones
  call('ZREM', GROUPS, ARGV[i])
  call('SREM', CROWDED, ARGV[i])
end
if last == '1' then call('HSET', SUBSCRIBER, 'dropped', oldest) end
call('HINCRBY', SUBSCRIBER, 'folds', 1)
return 1
