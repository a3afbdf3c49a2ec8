-- Changes or counts the jobs of a state, in steps.
-- ARGV: 'delete', 'cancel', 'retry' or 'count', state, cursor, maximum number of
--       jobs to examine, bytes after which to stop, a filter
-- Returns {'ok', cursor for the next step or '', number of jobs changed}.
-- @include queue operate
local operation, passes = operate[ARGV[1]], filter_of(6)
local changed = 0
local cursor = walk(ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), function(job)
  if passes(job) and operation(job) == 'ok' then changed = changed + 1 end
end)
return {'ok', cursor, changed}
