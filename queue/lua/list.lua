-- Lists jobs of a state, in the order in which they will run, or the latest
-- first.
-- ARGV: state, cursor, kind or '', most jobs, most that are looked at, bytes
--       after which no more are
-- Returns {'ok', cursor to go on with or '', number of jobs looked at, and the
-- jobs as give() says}; {'newer', format}.
local state, cursor, kind, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local out, seen, given = {'ok', '', 0}, 0, 0
out[2] = walk(state, cursor, tonumber(ARGV[5]), tonumber(ARGV[6]), function(job)
  seen = seen + 1
  if not passes(job, kind, 0) then return false end
  give(out, job)
  given = given + 1
  return given == most
end)
out[3] = seen
return out
