-- Registers a shipper under a lease. Repeating it renews the lease.
--
-- KEYS 1 channel   2 shippers   3 shipper leases   4 channel's wake stream
-- ARGV 1 shipper   2 lease in ms   3 'follow' or 'batch'   4 name for people
-- Returns 1.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
if redis.call('HSET', KEYS[2], ARGV[1], ARGV[3] .. ' ' .. ARGV[4]) == 1 then
	redis.call('HINCRBY', KEYS[1], 'shipments', 1)
end
redis.call('ZADD', KEYS[3], string.format('%.0f', ms + ARGV[2]), ARGV[1])
redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'new', 'shipper')
return 1
