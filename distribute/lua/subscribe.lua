-- Makes a subscriber, or fixes the settings of one that has none yet.
--
-- KEYS 1 subscribers   2 subscriber   3 channel's wake stream
-- ARGV 1 name   2 settings; empty: whatever its first worker brings
-- Returns the settings that hold now; the caller compares.
local have = redis.call('HGET', KEYS[1], ARGV[1])
if have and (have ~= '' or ARGV[2] == '') then
	return have
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if not have then
	local now = redis.call('TIME')
	redis.call('HSET', KEYS[2], 'v', 1, 'since', string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000)))
end
redis.call('XADD', KEYS[3], 'MAXLEN', 1, '*', 'new', 'subscriber')
return ARGV[2]
