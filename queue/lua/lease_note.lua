-- Stores data of a worker that has its lease.
-- ARGV: worker, 'describe', its description
--    or worker, 'alone', line and entry of the job that it runs solo from now on; ''
--       for none
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
