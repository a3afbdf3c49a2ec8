-- Removes a subscriber with its small records; its totals are dropped by the
-- caller in steps.
--
-- KEYS 1 subscribers   2 subscriber   3 claims   4 owners   5 channel's wake stream
-- ARGV 1 name
-- Returns 1 if there was one, else 0.
local gone = redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
redis.call('XADD', KEYS[5], 'MAXLEN', 1, '*', 'gone', 'subscriber')
return gone
