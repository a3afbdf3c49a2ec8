-- Adds queues to the list of all queues, and stores that they are in use now.
-- KEYS: the set of queues, the stream of new ones, the sorted set of queues by the time
--       when they were last used
-- ARGV: names
-- Returns 1.
-- @include int clock
redis.call('SREM', QUEUES, '') -- a first write lets the script run in a full Redis
local now, used = int(clock_ms()), {}
for i, name in ipairs(ARGV) do
  if redis.call('SADD', QUEUES, name) == 1 then
    redis.call('XADD', NEW, 'MAXLEN', '~', 1000, '*', 'queue', name)
  end
  used[2 * i - 1], used[2 * i] = now, name
end
redis.call('ZADD', USED, unpack(used))
return 1
