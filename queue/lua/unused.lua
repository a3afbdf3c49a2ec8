-- Lists queues that no client and no worker has used for some time, the longest unused
-- first.
-- KEYS: as register.lua
-- ARGV: ms for which they were not used, maximum number
-- Returns {'ok', names}.
-- @include int clock
redis.call('SREM', QUEUES, '') -- a first write lets the script run in a full Redis
local now = clock_ms()
-- Queues that other clients have listed count as used when they are first seen here.
for _, name in ipairs(redis.call('SRANDMEMBER', QUEUES, 100)) do
  redis.call('ZADD', USED, 'NX', int(now), name)
end
local found = {'ok'}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', USED, '-inf', int(now - tonumber(ARGV[1])), 'LIMIT', 0, ARGV[2])) do
  found[#found + 1] = name
end
return found
