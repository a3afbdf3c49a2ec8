-- Opens the lease of a worker.
-- ARGV: worker, lease in ms, what the worker says of itself
-- Returns {'ok'}; {'lost'} when the name was used before; {'newer', format}.
if call('ZSCORE', TOMBS, ARGV[1]) then return {'lost'} end
-- A full Redis refuses what may grow unless the script has written before; this
-- must work there, or a full queue is never emptied.
call('ZREM', TOMBS, '')
if not settings[1] then call('HSET', META, 'format', '1') end
call('ZADD', LEASES, int(now + tonumber(ARGV[2])), ARGV[1])
call('HSET', WORKERS, ARGV[1], ARGV[3])
return {'ok'}
