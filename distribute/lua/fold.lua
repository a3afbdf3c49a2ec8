-- Moves sealed counts into the totals. Each cell moves once, however often this
-- is repeated, because it leaves the sealed counts in the same step.
--
-- KEYS 1 subscriber   2 sealed files   3 sealed counts   4 groups   5 subscribers
--      then the totals of each group that occurs
-- ARGV 1 file id and shipment   2 subscriber   3 number of cells, from 1 to 500
--      then the cells, then for each of them its member and the number of its
--      group, from 1, then the groups
-- Returns how many cells are left; 0 if there is no such subscriber.
if redis.call('HEXISTS', KEYS[5], ARGV[2]) == 0 then
	return 0
end
local cells = tonumber(ARGV[3])
local names = { unpack(ARGV, 4, 3 + cells) }
local counts = redis.call('HMGET', KEYS[3], unpack(names))
for i, n in ipairs(counts) do
	if n then
		local member, totals = ARGV[2 + cells + 2 * i], KEYS[5 + ARGV[3 + cells + 2 * i]]
		if tonumber(redis.call('ZINCRBY', totals, n, member)) == 0 then
			redis.call('ZREM', totals, member)
		end
	end
end
redis.call('HDEL', KEYS[3], unpack(names))
for i = 4 + 3 * cells, #ARGV do
	redis.call('ZADD', KEYS[4], 0, ARGV[i])
end
local left = redis.call('HLEN', KEYS[3])
if left == 0 then
	redis.call('SREM', KEYS[2], ARGV[1])
end
redis.call('HINCRBY', KEYS[1], 'version', 1)
return left
