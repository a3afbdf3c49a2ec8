-- Opens the lease of a worker.
-- ARGV: worker, lease in ms, description of the worker
-- Returns {'ok'}; {'lost'} if a worker of this name was declared dead and still has a
-- tombstone. Later nothing remembers the name, so names must be random.
-- @include queue
if call('ZSCORE', TOMBS, ARGV[1]) then return {'lost'} end
-- @include when_full amnesty
write_format()
note_renewal(0)
call('ZADD', LENGTHS, ARGV[2], ARGV[1])
call('ZADD', LEASES, int(now + tonumber(ARGV[2])), ARGV[1])
call('HSET', WORKERS, ARGV[1], ARGV[3])
return {'ok'}
