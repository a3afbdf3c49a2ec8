-- Notes something of a worker, as long as it has its lease.
-- ARGV: worker, 'describe', what it says of itself
--    or worker, 'alone', line and entry of the job that it now runs with no
--       other beside it; '' when it doesn't any more
-- Returns {'ok'}; {'lost'}.
-- @include queue worker when_full
if ARGV[2] == 'describe' then
  call('HSET', WORKERS, worker, ARGV[3])
elseif ARGV[3] == '' then
  call('HDEL', ALONE, worker)
else
  call('HSET', ALONE, worker, ARGV[3])
end
return {'ok'}
