-- Stores which job a worker runs solo from now on.
-- ARGV: worker, line and entry of the job, '' for none
-- Returns {'ok'}; {'lost'}.
-- @include queue worker when_full
if ARGV[2] == '' then
  call('HDEL', ALONE, worker)
else
  call('HSET', ALONE, worker, ARGV[2])
end
return {'ok'}
