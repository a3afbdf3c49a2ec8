-- Lists jobs of a state, in the order in which they will run, or latest first.
-- ARGV: state, cursor, maximum number of jobs, bytes after which to stop
-- Returns {'ok', cursor of the next page or '', the jobs in the form of append_job()}.
-- @include queue walk
local out = {'ok', ''}
out[2] = walk(ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), function(job) append_job(out, job) end)
return out
