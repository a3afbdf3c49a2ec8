-- Forgets a file that nobody has touched for long, so that records don't grow
-- for ever.
--
-- KEYS 1 files   2 heads   3 file   4 open files   5 abandoned files
-- ARGV 1 file id   2 the newest time of last touch, in ms, that may be forgotten
-- Returns 1 if it was forgotten, else 0.
local touched = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not touched or tonumber(touched) > tonumber(ARGV[2]) or redis.call('ZSCORE', KEYS[4], ARGV[1]) then
	return 0
end
local first = redis.call('HGET', KEYS[3], 'first')
local kept = {}
if first then
	for id in string.gmatch(redis.call('HGET', KEYS[2], first) or '', '%S+') do
		if id ~= ARGV[1] then
			kept[#kept + 1] = id
		end
	end
	if #kept > 0 then
		redis.call('HSET', KEYS[2], first, table.concat(kept, ' '))
	else
		redis.call('HDEL', KEYS[2], first)
	end
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('UNLINK', KEYS[3])
return 1
