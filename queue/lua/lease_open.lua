-- Opens the lease of a worker.
-- ARGV: worker, lease in ms, description of the worker
-- Returns {'ok'}; {'lost'} if the name was used before.
-- @include queue
if call('ZSCORE', TOMBS, ARGV[1]) then return {'lost'} end
-- @include when_full
write_format()
call('ZADD', LEASES, int(now + tonumber(ARGV[2])), ARGV[1])
call('HSET', WORKERS, ARGV[1], ARGV[3])
return {'ok'}
