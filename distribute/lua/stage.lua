-- Stages counts of a claimed file. They count for nothing until they are sealed.
--
-- KEYS 1 owners   2 staged counts
-- ARGV 1 file id   2 claim   then cell, count, … (at most 500 cells)
-- Returns 1, or 0 if the claim is lost. Repeating it changes nothing.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
	return 0
end
for i = 3, #ARGV, 2 do
	redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
end
return 1
