-- Moves sealed counts into the totals. Each cell moves once, however often this
-- is repeated, because it leaves the sealed counts in the same step.
-- KEYS: after the named ones, the totals of each group that occurs
-- ARGV: file id and shipment; subscriber; number of cells, from 1 to 500; then the
-- cells, then for each of them its member and the number of its group, from 1,
-- then the groups
-- Returns how many cells are left; 0 if there is no such subscriber.
-- @include channel
local shipment, subscriber, cells = unpack(ARGV, 1, 3)
if call('HEXISTS', SUBSCRIBERS, subscriber) == 0 then return 0 end
local names = {unpack(ARGV, 4, 3 + cells)}
for i, n in ipairs(call('HMGET', SEALED_CELLS, unpack(names))) do
  if n then
    local member, totals = ARGV[2 + cells + 2 * i], KEYS[5 + ARGV[3 + cells + 2 * i]]
    if tonumber(call('ZINCRBY', totals, n, member)) == 0 then call('ZREM', totals, member) end
  end
end
call('HDEL', SEALED_CELLS, unpack(names))
for i = 4 + 3 * cells, #ARGV do call('ZADD', GROUPS, 0, ARGV[i]) end
local left = call('HLEN', SEALED_CELLS)
if left == 0 then call('SREM', SEALED, shipment) end
call('HINCRBY', SUBSCRIBER, 'version', 1)
return left
