-- Adds a queue to the list of all queues, once.
-- KEYS: the set of queues, the stream of new ones
-- ARGV: name
-- Returns 1.
redis.call('SREM', QUEUES, '') -- a first write lets the script run in a full Redis
if redis.call('SADD', QUEUES, ARGV[1]) == 1 then
  redis.call('XADD', NEW, 'MAXLEN', '~', 1000, '*', 'queue', ARGV[1])
end
return 1
