-- Lists jobs of a state, in the order in which they will run, or the latest
-- first.
-- ARGV: state, cursor, most jobs, most that are looked at, bytes after which no
--       more are, a filter
-- Returns {'ok', cursor to go on with or '', number of jobs looked at, and the
-- jobs as give() says}.
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
