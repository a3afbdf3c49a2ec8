-- Lists jobs of a state, in the order in which they will run, or latest first.
-- ARGV: state, cursor, maximum number of jobs, maximum number to examine, bytes after
--       which to stop, a filter
-- Returns {'ok', cursor of the next page or '', number of jobs examined, the jobs in the
-- form of append_job()}.
-- @include queue walk
local limit, passes = tonumber(ARGV[3]), filter_of(6)
local out, seen, listed = {'ok', '', 0}, 0, 0
out[2] = walk(ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5]), function(job)
  seen = seen + 1
  if not passes(job) then return false end
  append_job(out, job)
  listed = listed + 1
  return listed == limit
end)
out[3] = seen
return out
