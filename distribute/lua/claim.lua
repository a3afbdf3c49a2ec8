-- Claims for a subscriber the first of some announced files that is free, and
-- tells of each how it stands, up to that one.
--
-- KEYS 1 subscribers   2 subscriber   3 claims   4 owners
--      then for each file: file, its staged counts
-- ARGV 1 subscriber   2 claim   3 lease in ms   then for each file: id, shipment
-- Returns {time now, verdict, verdict, …}, one for each file looked at:
--      -1 gone: counted by the subscriber before, done, or abandoned
--      0 claimed now, always the last
--      N held by another claim until that time
-- or an empty list if there is no such subscriber.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return {}
end
redis.call('HSET', KEYS[2], 'seen', string.format('%.0f', ms))
local answer = { string.format('%.0f', ms) }
for i = 1, (#KEYS - 4) / 2 do
	local record, staged = KEYS[3 + 2 * i], KEYS[4 + 2 * i]
	local id, ship = ARGV[2 + 2 * i], ARGV[3 + 2 * i]
	local file = redis.call('HMGET', record, 'ship', 'state', 'ship:' .. ARGV[1])
	local lease = redis.call('ZSCORE', KEYS[3], id)
	if file[1] ~= ship or (file[2] ~= 'uploading' and file[2] ~= 'uploaded') or file[3] == ship then
		answer[i + 1] = '-1'
		if file[1] == ship then -- nobody counts it any more; what a dead claim left goes too
			redis.call('ZREM', KEYS[3], id)
			redis.call('HDEL', KEYS[4], id)
		end
	elseif lease and tonumber(lease) > ms and redis.call('HGET', KEYS[4], id) ~= ARGV[2] then
		answer[i + 1] = string.format('%.0f', tonumber(lease))
	else
		redis.call('ZADD', KEYS[3], string.format('%.0f', ms + ARGV[3]), id)
		redis.call('HSET', KEYS[4], id, ARGV[2])
		redis.call('UNLINK', staged) -- what a dead claim left
		answer[i + 1] = '0'
		return answer
	end
end
return answer
