-- Deletes a queue that holds nothing.
-- ARGV: '1' to delete also its settings, its pause and its unique keys, else '0'
--       ms for which no job was added to a line; 0 means no matter when
-- Returns {'ok'}, also if there is no such queue; {'state', what the queue has: 'jobs',
-- 'schedules', 'workers', 'settings', 'keys' or 'waits', or 'used' if it is not idle}.
-- @include queue groups
local SETTINGS = {'dead_most', 'dead_most_bytes', 'dead_most_ms', 'results_most', 'results_most_bytes', 'results_most_ms'}
local with_settings, idle_ms = ARGV[1] == '1', tonumber(ARGV[2])

for line = 1, LINES do
  if call('EXISTS', KEYS[line]) == 1 then
    if call('XLEN', KEYS[line]) > 0 then return {'state', 'jobs'} end
    -- The embedded server does not report the last id.
    local last = fields_of(call('XINFO', 'STREAM', KEYS[line]))['last-generated-id'] or '0-0'
    if now - tonumber(string.match(last, '^%d+')) < idle_ms then return {'state', 'used'} end
  end
end
if call('EXISTS', DELAYED, DELAYED_JOBS, DEAD, DEAD_JOBS, RESULTS, RESULTS_JOBS) > 0 then return {'state', 'jobs'} end
if call('EXISTS', SCHEDULES) == 1 then return {'state', 'schedules'} end
if call('ZCOUNT', LEASES, int(now), '+inf') > 0 then return {'state', 'workers'} end
if not with_settings then
  if paused or max_events then return {'state', 'settings'} end
  for _, setting in ipairs(call('HMGET', META, unpack(SETTINGS))) do
    if setting then return {'state', 'settings'} end
  end
  if call('EXISTS', UNIQUE) == 1 then return {'state', 'keys'} end
  if call('ZCOUNT', WAITED, int(now), '+inf') > 0 then return {'state', 'waits'} end
end
call('UNLINK', unpack(KEYS))
return {'ok'}
