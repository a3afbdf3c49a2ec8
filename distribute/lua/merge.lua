#!lua flags=allow-oom
-- Moves cells of a group that has more than its bound into others, in all series at once, in their
-- order until the group has no more than that. The sums stay the same. A cell that is moved already
-- is not there any more, so that repeating it changes nothing.
-- KEYS: the declared keys, then the totals key of each series of the group, at most 500
-- divided by the number of cells, that of the requests first
-- ARGV: subscriber; group; its bound; pairs (member, member of the cell that it is added
-- to)
-- Returns how many cells more than the bound are left, 0: none, or there is no such
-- subscriber; -1 while a report reads the totals.
-- @include channel
local subscriber, group, bound = unpack(ARGV, 1, 3)
local first_key = 6
if call('HEXISTS', SUBSCRIBERS, subscriber) == 0 then return 0 end
if call('ZCOUNT', READERS, '(' .. int(clock_ms()), '+inf') > 0 then return -1 end

local function surplus()
  local n = call('ZCARD', KEYS[first_key]) - bound
  if n > 0 then return n end
  call('SREM', CROWDED, group)
  return 0
end

local many, first = surplus(), KEYS[first_key]
local members, target, new = {}, {}, {}
for i = 4, #ARGV, 2 do
  local member, into = ARGV[i], ARGV[i + 1]
  if many > 0 and call('ZSCORE', first, member) then
    members[#members + 1], target[#target + 1] = member, into
    if new[into] or call('ZSCORE', first, into) then many = many - 1 end
    new[into] = true
  end
end
if #members == 0 then return many end
for k = first_key, #KEYS do
  local sums, moved = {}, 0
  for i, count in ipairs(call('ZMSCORE', KEYS[k], unpack(members))) do
    if count then sums[target[i]], moved = (sums[target[i]] or 0) + count, moved + 1 end
  end
  call('ZREM', KEYS[k], unpack(members))
  for member, sum in pairs(sums) do call('ZINCRBY', KEYS[k], int(sum), member) end
  if k == first_key and moved > 0 then call('ZINCRBY', GROUPS, moved, group) end
end
call('HINCRBY', SUBSCRIBER, 'folds', 1)
return surplus()
