-- A worker's heartbeat: notes that its subscriber is served, and renews claims.
--
-- KEYS 1 subscribers   2 subscriber   3 claims   4 owners
-- ARGV 1 subscriber   2 lease in ms   then file id, claim, …
-- Returns the ids of the files whose claim is lost.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	redis.call('HSET', KEYS[2], 'seen', string.format('%.0f', ms))
end
local lost = {}
for i = 3, #ARGV, 2 do
	if redis.call('HGET', KEYS[4], ARGV[i]) == ARGV[i + 1] then
		redis.call('ZADD', KEYS[3], string.format('%.0f', ms + ARGV[2]), ARGV[i])
	else
		lost[#lost + 1] = ARGV[i]
	end
end
return lost
