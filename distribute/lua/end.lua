-- Ends a shipper: by itself, or (when only expired ones are meant) because its
-- lease has run out.
--
-- KEYS 1 shippers   2 shipper leases   3 waiting line   4 channel's wake stream
-- ARGV 1 shipper   2 '1': only if its lease has run out
-- Returns 1 if it was there and is gone, else 0.
if ARGV[2] == '1' then
	local now = redis.call('TIME')
	local lease = redis.call('ZSCORE', KEYS[2], ARGV[1])
	if lease and tonumber(lease) > now[1] * 1000 + math.floor(now[2] / 1000) then
		return 0
	end
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
local gone = redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'gone', 'shipper')
return gone
