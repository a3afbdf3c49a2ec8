-- Writes a chat to a person's list, and wakes the person's waiters.
-- KEYS: the list (sorted set), its wake-up stream
-- ARGV[1] chat
-- Returns {'ok'}
-- @include int
-- @include clock

redis.call('ZADD', LIST, int(clock_ms()), ARGV[1])
redis.call('PERSIST', LIST)
-- Only calls that are blocked now read it, and no call blocks for a minute.
redis.call('XADD', WAKE, 'MAXLEN', '1', '*', 'chat', ARGV[1])
redis.call('PEXPIRE', WAKE, '60000')
return {'ok'}
