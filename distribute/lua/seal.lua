-- Seals a claimed file: its staged counts and the mark that the subscriber has
-- counted it become true in this one step.
--
-- KEYS 1 subscribers   2 subscriber   3 claims   4 owners   5 file
--      6 staged counts   7 sealed counts   8 sealed files   9 files
--      10 channel's wake stream   11 spent files   12 files with problems
-- ARGV 1 subscriber   2 file id   3 shipment   4 claim   5 number of staged cells
--      6 number of fields of the file's record that follow, then field, value, …
--      then of the subscriber's totals: field, increment, …
-- Returns 2 if every subscriber has now counted the shipment, 1 if not yet (both
-- also when repeated), 0 if the claim is lost or the shipment was abandoned, -1
-- if the staged counts are not as many.
local file = redis.call('HMGET', KEYS[5], 'ship', 'state', 'ship:' .. ARGV[1], 'seal:' .. ARGV[1])
if file[3] == ARGV[3] and file[4] == ARGV[4] then
	return file[2] == 'done' and 2 or 1
end
if file[1] ~= ARGV[3] or file[2] ~= 'uploaded' or file[3] == ARGV[3]
	or redis.call('HGET', KEYS[4], ARGV[2]) ~= ARGV[4] then
	return 0
end
local cells = tonumber(ARGV[5])
if redis.call('HLEN', KEYS[6]) ~= cells then
	return -1
end

if cells > 0 then
	redis.call('RENAME', KEYS[6], KEYS[7])
	redis.call('SADD', KEYS[8], ARGV[2] .. ':' .. ARGV[3])
end
redis.call('HSET', KEYS[5], 'ship:' .. ARGV[1], ARGV[3], 'seal:' .. ARGV[1], ARGV[4])
local totals = 7 + 2 * ARGV[6]
for i = 7, totals - 1, 2 do
	redis.call('HSET', KEYS[5], ARGV[i] .. ':' .. ARGV[1], ARGV[i + 1])
	if ARGV[i] == 'note' then
		redis.call(ARGV[i + 1] == '' and 'SREM' or 'SADD', KEYS[12], ARGV[2])
	end
end
for i = totals, #ARGV, 2 do
	redis.call('HINCRBY', KEYS[2], ARGV[i], ARGV[i + 1])
end
redis.call('HINCRBY', KEYS[2], 'version', 1)
redis.call('HDEL', KEYS[4], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
local now = redis.call('TIME')
redis.call('ZADD', KEYS[9], string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000)), ARGV[2])
redis.call('XADD', KEYS[10], 'MAXLEN', 1, '*', 'counted', 'file')

for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
	if redis.call('HGET', KEYS[5], 'ship:' .. name) ~= ARGV[3] then
		return 1
	end
end
redis.call('HSET', KEYS[5], 'state', 'done')
redis.call('SADD', KEYS[11], ARGV[2])
return 2
