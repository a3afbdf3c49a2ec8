-- Removes a queue from the list of all queues, unless a client or a worker has used it
-- lately: then it may be about to add a job.
-- KEYS: as register.lua
-- ARGV: name; ms for which it was not used; '1' to remove it, '0' to look only
-- Returns 1 if it was removed, or can be, else 0.
-- @include int clock
redis.call('SREM', QUEUES, '') -- a first write lets the script run in a full Redis
local now = clock_ms()
-- A queue that only other clients have listed counts as used now.
redis.call('ZADD', USED, 'NX', int(now), ARGV[1])
if now - tonumber(redis.call('ZSCORE', USED, ARGV[1])) < tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '1' then
  redis.call('SREM', QUEUES, ARGV[1])
  redis.call('ZREM', USED, ARGV[1])
end
return 1
