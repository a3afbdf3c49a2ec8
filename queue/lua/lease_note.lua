-- Notes something of a worker, as long as it has its lease.
-- ARGV: worker, 'describe', what it says of itself
--    or worker, 'alone', line and entry of the job that it now runs with no
--       other beside it; '' when it doesn't any more
-- Returns {'ok'}; {'lost'}; {'newer', format}.
if not call('ZSCORE', LEASES, ARGV[1]) then return {'lost'} end
-- A full Redis refuses what may grow unless the script has written before; this
-- must work there, or a full queue is never emptied.
call('ZREM', TOMBS, '')
if ARGV[2] == 'describe' then
  call('HSET', WORKERS, ARGV[1], ARGV[3])
elseif ARGV[3] == '' then
  call('HDEL', ALONE, ARGV[1])
else
  call('HSET', ALONE, ARGV[1], ARGV[3])
end
return {'ok'}
