-- Does something to the jobs of a state, or nothing but count them, some at a
-- time.
-- ARGV: 'delete', 'cancel', 'retry' or 'count', state, cursor, most that are
--       looked at, bytes after which no more are, a filter
-- Returns {'ok', cursor to go on with or '', jobs changed}.
-- @include queue operate
local operation, passes = operate[ARGV[1]], filter_of(6)
local changed = 0
local cursor = walk(ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), function(job)
  if passes(job) and operation(job) == 'ok' then changed = changed + 1 end
end)
return {'ok', cursor, changed}
