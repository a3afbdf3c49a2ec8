-- A shipper's heartbeat: renews its lease and that of the file it uploads.
--
-- KEYS 1 shipper leases   2 uploads   3 file (the channel's own key when there is none)
-- ARGV 1 shipper   2 lease in ms   3 shipment of the file, 0: none   4 file id
-- Returns 1, or 0 if the lease had run out and the shipper was taken for dead.
local now = redis.call('TIME')
local till = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[2])
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == false then
	return 0
end
redis.call('ZADD', KEYS[1], 'XX', till, ARGV[1])
if ARGV[3] ~= '0' then
	local file = redis.call('HMGET', KEYS[3], 'by', 'ship', 'state')
	if file[1] == ARGV[1] and file[2] == ARGV[3] and file[3] == 'uploading' then
		redis.call('ZADD', KEYS[2], 'XX', till, ARGV[4])
	end
end
return 1
