-- Renews claims.
--
-- KEYS 1 subscriber   2 claims   3 owners
-- ARGV 1 lease in ms   then file id, claim, …
-- Returns the ids of the files whose claim is lost.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('HSET', KEYS[1], 'seen', string.format('%.0f', ms))
local lost = {}
for i = 2, #ARGV, 2 do
	if redis.call('HGET', KEYS[3], ARGV[i]) == ARGV[i + 1] then
		redis.call('ZADD', KEYS[2], string.format('%.0f', ms + ARGV[1]), ARGV[i])
	else
		lost[#lost + 1] = ARGV[i]
	end
end
return lost
