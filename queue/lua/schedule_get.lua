-- Reads a schedule, and the clock.
-- ARGV: name
-- Returns {'ok', now in ms, record or '', its version, time in ms at which it fires next
-- or '', its last firings, salt of the queue or ''}.
-- @include queue schedule
local record = call('HGET', SCHEDULES, ARGV[1])
if not record then return {'ok', int(now), '', '', '', '', ''} end
local due = call('ZSCORE', SCHEDULES_DUE, ARGV[1])
return {'ok', int(now), record, version_of(record), due and int(tonumber(due)) or '',
  call('HGET', SCHEDULES_FIRED, ARGV[1]) or '', call('HGET', META, 'salt') or ''}
