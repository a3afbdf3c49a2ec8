-- Gives a claim back before its lease ends, with all that it staged.
--
-- KEYS 1 claims   2 owners   3 staged counts   4 channel's wake stream
-- ARGV 1 file id   2 claim
-- Returns 1 if the claim was held, else 0.
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then
	return 0
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('UNLINK', KEYS[3])
redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'free', 'claim')
return 1
