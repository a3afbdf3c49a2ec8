#!lua flags=allow-oom
-- Moves sealed cells into the totals of their groups. Each cell is added once,
-- however often this is repeated, because the same script removes it from the
-- sealed cells.
-- KEYS: the declared keys, then one totals key per group
-- ARGV: ID:SHIPMENT:COMMIT; subscriber; n (1 to 500); n cell names; n pairs (member, group
-- index from 1); pairs (group name, bound of its cells, 0: none)
-- Returns the number of cells left; 0 if there is no such subscriber; -1 while a report
-- reads the totals, unless very many commits wait.
-- @include channel
local commit, subscriber, n = unpack(ARGV, 1, 3)
local declared = 7 -- keys
local max_waiting = 1000 -- commits
local first_pair = 4 + n
local first_group = first_pair + 2 * n
if call('HEXISTS', SUBSCRIBERS, subscriber) == 0 then return 0 end
local reading = call('ZCOUNT', READERS, '(' .. int(clock_ms()), '+inf') > 0
if reading and call('SCARD', SEALED) <= max_waiting then return -1 end
local touched = {} -- indexes of groups
local names = {unpack(ARGV, 4, first_pair - 1)}
for i, count in ipairs(call('HMGET', SEALED_CELLS, unpack(names))) do
  if count then
    local pair = first_pair + 2 * (i - 1)
    local member, index = ARGV[pair], tonumber(ARGV[pair + 1])
    local group_key = KEYS[declared + index]
    touched[index] = true
    if tonumber(call('ZINCRBY', group_key, count, member)) == 0 then call('ZREM', group_key, member) end
  end
end
call('HDEL', SEALED_CELLS, unpack(names))
for index in pairs(touched) do
  local group, bound = unpack(ARGV, first_group + 2 * (index - 1), first_group + 2 * index - 1)
  call('ZADD', GROUPS, 'NX', 0, group) -- the score is the number of cells that merge.lua moved
  if bound ~= '0' and call('ZCARD', KEYS[declared + index]) > tonumber(bound) then call('SADD', CROWDED, group) end
end
local left = call('HLEN', SEALED_CELLS)
if left == 0 then call('SREM', SEALED, commit) end
call('HINCRBY', SUBSCRIBER, 'folds', 1)
return left
