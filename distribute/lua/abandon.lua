-- Gives an unfinished upload up: by its shipper, or by anybody once its lease
-- has run out. Its segments are then freed by free.lua.
--
-- KEYS 1 file   2 file's wake stream   3 abandoned files   4 channel's wake stream
--      5 uploads   6 spent files
-- ARGV 1 shipper, empty: only if the lease has run out   2 shipment   3 file id
--      4 how long, in ms, the readers' wake-up stays   5 '1': it is to be shipped
--      again, and missed until then
-- Returns 1 if it is abandoned (now or before), else 0.
local file = redis.call('HMGET', KEYS[1], 'by', 'ship', 'state', 'raw')
if file[2] ~= ARGV[2] then
	return 0
end
if file[3] == 'abandoned' then
	return 1
end
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local expired = tonumber(redis.call('ZSCORE', KEYS[5], ARGV[3]) or '0') <= ms
if file[3] ~= 'uploading' or not (file[1] == ARGV[1] or (ARGV[1] == '' and expired)) then
	return 0
end
redis.call('HSET', KEYS[1], 'state', 'abandoned')
redis.call('XADD', KEYS[2], 'MAXLEN', 1, file[4] .. '-2', 'abandoned', 1)
redis.call('PEXPIRE', KEYS[2], ARGV[4])
if ARGV[5] == '1' then
	redis.call('ZADD', KEYS[3], string.format('%.0f', ms), ARGV[3])
end
redis.call('ZREM', KEYS[5], ARGV[3])
redis.call('SADD', KEYS[6], ARGV[3])
redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'abandoned', 'file')
return 1
