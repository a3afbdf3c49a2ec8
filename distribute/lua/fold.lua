-- Moves sealed counts into the totals. Each cell moves once, however often this
-- is repeated, because it leaves the sealed counts in the same step.
--
-- KEYS 1 subscriber   2 sealed files   3 sealed counts   4 groups
--      then the totals of each group that occurs
-- ARGV 1 file id and shipment   then for each cell (at most 500):
--      cell, number of its totals among the keys from 1, group, member
-- Returns how many cells are left.
for i = 2, #ARGV, 4 do
	local n = redis.call('HGET', KEYS[3], ARGV[i])
	if n then
		local totals = KEYS[4 + ARGV[i + 1]]
		if tonumber(redis.call('ZINCRBY', totals, n, ARGV[i + 3])) == 0 then
			redis.call('ZREM', totals, ARGV[i + 3])
		end
		redis.call('ZADD', KEYS[4], 0, ARGV[i + 2])
		redis.call('HDEL', KEYS[3], ARGV[i])
	end
end
local left = redis.call('HLEN', KEYS[3])
if left == 0 then
	redis.call('SREM', KEYS[2], ARGV[1])
end
redis.call('HINCRBY', KEYS[1], 'version', 1)
return left
