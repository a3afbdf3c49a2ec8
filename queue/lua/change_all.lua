-- Does something to the jobs of a state, some at a time.
-- ARGV: 'delete', 'cancel' or 'retry', state, cursor, kind or '', age in ms,
--       most that are looked at, bytes after which no more are
-- Returns {'ok', cursor to go on with or '', jobs changed}; {'newer', format}.
local operation, kind, age = operate[ARGV[1]], ARGV[4], tonumber(ARGV[5])
local changed = 0
local cursor = walk(ARGV[2], ARGV[3], tonumber(ARGV[6]), tonumber(ARGV[7]), function(job)
  if passes(job, kind, age) and operation(job) == 'ok' then changed = changed + 1 end
end)
return {'ok', cursor, changed}
