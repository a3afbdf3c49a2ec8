#!lua flags=allow-oom
-- Moves sealed cells into the totals of their groups. Each cell is added once,
-- however often this is repeated, because the same script removes it from the
-- sealed cells. Cells of days that the subscriber does not keep any more are dropped, and their
-- lines expire.
-- KEYS: the declared keys, then one totals key per group
-- ARGV: ID:SHIPMENT:COMMIT; subscriber; its epoch; n (1 to 500); n cell names; n pairs (member, group
-- index from 1); pairs (group name, bound of its cells, 0: none); if the n cells are all those
-- of one combination of values, the members into which merge.lua may have moved its numbers
-- Returns {number of cells left, number of groups with more cells than their bound}; {0, 0} if
-- there is no such subscriber, or it was reset; {-1, 0} while a report reads the totals, unless very many commits
-- wait.
-- @include channel
-- @include account
-- @include epoch
local commit, subscriber, epoch, n = unpack(ARGV, 1, 4)
local declared = 7 -- keys
local max_waiting = 1000 -- commits
local first_pair = 5 + n
local first_group = first_pair + 2 * n
if call('HEXISTS', SUBSCRIBERS, subscriber) == 0 then return {0, 0} end
if epoch_of() ~= epoch then return {0, 0} end
local reading = call('ZCOUNT', READERS, '(' .. int(clock_ms()), '+inf') > 0
if reading and call('SCARD', SEALED) <= max_waiting then return {-1, 0} end
local oldest = call('HGET', SUBSCRIBER, 'oldest')

-- expired reports whether a cell is of a day before the oldest one, which is not kept: its lines move.
local function expired(group, member, count)
  if group ~= 'accounts' then return string.sub(group, 1, 10) < oldest end
  if string.sub(member, 1, 10) >= oldest then return false end
  expire_lines(string.sub(member, 12), tonumber(count))
  return true
end

local names = {unpack(ARGV, 5, first_pair - 1)}
local counts = call('HMGET', SEALED_CELLS, unpack(names))

-- fits reports whether no number of a member is negative if the counts are added to it.
local function fits(member)
  for i, count in ipairs(counts) do
    local key = KEYS[declared + ARGV[first_pair + 2 * (i - 1) + 1]]
    if count and count + (call('ZSCORE', key, member) or 0) < 0 then return false end
  end
  return true
end

-- A last line without its end that is subtracted may have been moved with its cell: then it is
-- subtracted where it is now, in all series.
local moved_to
local first_other = first_group + 2 * (#KEYS - declared)
if ARGV[first_other] and (call('ZSCORE', GROUPS, ARGV[first_group]) or '0') ~= '0' and not fits(ARGV[first_pair]) then
  for i = first_other, #ARGV do
    if not moved_to and fits(ARGV[i]) then moved_to = ARGV[i] end
  end
end

-- The totals of a group are read with one command and written with another, which is faster than a
-- ZINCRBY for each cell. Its members differ: so do the names of cells, and all cells whose numbers
-- were moved are of different groups. A new number stays the text that it is.
local members, numbers = {}, {} -- by the index of a group: the members, and what is added to them
for i, count in ipairs(counts) do
  local pair = first_pair + 2 * (i - 1)
  local member, index = ARGV[pair], ARGV[pair + 1]
  if count and not (oldest and expired(ARGV[first_group + 2 * (index - 1)], member, count)) then
    if not members[index] then members[index], numbers[index] = {}, {} end
    local last = #members[index]
    members[index][last + 1], numbers[index][last + 1] = moved_to or member, count
  end
end
for index, list in pairs(members) do
  local group, bound = unpack(ARGV, first_group + 2 * (index - 1), first_group + 2 * index - 1)
  local key, scores, zeros = KEYS[declared + index], {}, {}
  for i, score in ipairs(call('ZMSCORE', key, unpack(list))) do
    local sum = numbers[index][i]
    if score then sum = int(score + sum) end
    if sum == '0' then
      zeros[#zeros + 1] = list[i]
    else
      local last = #scores
      scores[last + 1], scores[last + 2] = sum, list[i]
    end
  end
  if #scores > 0 then call('ZADD', key, unpack(scores)) end
  if #zeros > 0 then call('ZREM', key, unpack(zeros)) end
  call('ZADD', GROUPS, 'NX', 0, group) -- the score is the number of cells that merge.lua moved
  if bound ~= '0' and call('ZCARD', key) > tonumber(bound) then call('SADD', CROWDED, group) end
end
call('HDEL', SEALED_CELLS, unpack(names))
local left = call('HLEN', SEALED_CELLS)
if left == 0 then call('SREM', SEALED, commit) end
call('HINCRBY', SUBSCRIBER, 'folds', 1)
return {left, call('SCARD', CROWDED)}
