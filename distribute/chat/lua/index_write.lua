-- Notes a chat in a person's list, and wakes the member's waiters.
-- KEYS[1] the list (sorted set)  KEYS[2] its wake-up stream
-- ARGV[1] chat
-- Returns {'ok'}

local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
redis.call('ZADD', KEYS[1], now, ARGV[1])
-- Only who is blocked right now needs it, and nobody blocks for a minute.
redis.call('XADD', KEYS[2], 'MAXLEN', '1', '*', 'chat', ARGV[1])
redis.call('PEXPIRE', KEYS[2], '60000')
return {'ok'}
