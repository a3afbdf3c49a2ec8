-- Lists jobs of a state, in the order in which they will run, or latest first.
-- ARGV: state, cursor, maximum number of jobs, maximum number to examine, bytes after
--       which to stop, a filter
-- Returns {'ok', cursor of the next page or '', number of jobs examined, the jobs in the
-- form of give()}.
-- @include queue walk
local most, passes = tonumber(ARGV[3]), filter_of(6)
local out, seen, given = {'ok', '', 0}, 0, 0
out[2] = walk(ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5]), function(job)
  seen = seen + 1
  if not passes(job) then return false end
  give(out, job)
  given = given + 1
  return given == most
end)
out[3] = seen
return out
