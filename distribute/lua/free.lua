-- Frees segments of a shipment that is done or abandoned; the last call gives
-- its space back to the window.
--
-- KEYS 1 channel   2 open files   3 file   4 file's wake stream
--      5 channel's wake stream   6 spent files   7… segments, at most 100
-- ARGV 1 shipment   2 file id   3 '1': these are the last
-- Returns 1 if the space was given back by this call, else 0.
local file = redis.call('HMGET', KEYS[3], 'ship', 'state', 'cost')
if file[2] ~= 'done' and file[2] ~= 'abandoned' then
	redis.call('SREM', KEYS[6], ARGV[2]) -- nothing of ours put it there
	return 0
end
if file[1] ~= ARGV[1] then
	return 0
end
for i = 7, #KEYS do
	redis.call('UNLINK', KEYS[i])
end
if ARGV[3] ~= '1' then
	return 0
end
redis.call('SREM', KEYS[6], ARGV[2])
if redis.call('ZREM', KEYS[2], ARGV[2]) == 0 then
	return 0
end
if file[2] == 'done' then
	redis.call('UNLINK', KEYS[4]) -- nobody reads; an abandoned one expires after its readers have seen it
end
redis.call('HINCRBY', KEYS[1], 'used', -tonumber(file[3]))
redis.call('HDEL', KEYS[3], 'by', 'cost', 'raw', 'admitted', 'segment', 'base', 'upload')
redis.call('XADD', KEYS[5], 'MAXLEN', 1, '*', 'freed', 'file')
return 1
