-- Marks a file as done if every subscriber has counted its last shipment: for
-- when a subscriber was removed that the others waited for.
--
-- KEYS 1 file   2 subscribers   3 spent files
-- ARGV 1 file id
-- Returns 1 if it is done (now or before), else 0.
local file = redis.call('HMGET', KEYS[1], 'ship', 'state')
if file[2] == 'done' then
	return 1
end
if file[2] ~= 'uploaded' then
	return 0
end
local names = redis.call('HKEYS', KEYS[2])
for _, name in ipairs(names) do
	if redis.call('HGET', KEYS[1], 'ship:' .. name) ~= file[1] then
		return 0
	end
end
if #names == 0 then
	return 0
end
redis.call('HSET', KEYS[1], 'state', 'done')
redis.call('SADD', KEYS[3], ARGV[1])
return 1
