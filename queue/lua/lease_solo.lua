-- Stores which job a worker runs solo from now on, or that its process holds jobs of other
-- quarantined groups, so that its death counts for none of its jobs.
-- ARGV: worker, line and entry of the solo job, 'shared', or '' for neither
-- Returns {'ok'}; {'lost'}.
-- @include queue worker when_full
if ARGV[2] == '' then
  call('HDEL', ALONE, worker)
else
  call('HSET', ALONE, worker, ARGV[2])
end
return {'ok'}
