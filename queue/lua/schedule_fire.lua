-- Fires a schedule for some due times, and sets the next one. It changes nothing unless
-- the schedule and its next time are as they were read: of several callers, and of
-- repeated calls, one succeeds.
-- ARGV: name, version and due time that were read, time in ms at which it fires next or
--       '' for never, then for each due time the time in ms and the headers of its job
-- Returns {'ok'}; {'moved'}; {'damaged'}.
-- @include queue schedule_job
local name = ARGV[1]
local record, due = call('HGET', SCHEDULES, name), call('ZSCORE', SCHEDULES_DUE, name)
if not record or not due or version_of(record) ~= ARGV[2] or int(tonumber(due)) ~= ARGV[3] then
  return {'moved'}
end
if tonumber(due) > now or #ARGV > 4 and tonumber(ARGV[#ARGV - 1]) > now then
  return {'moved'} -- the clock went back
end
if #ARGV > 4 and not fire(name, record, 5) then return {'damaged'} end
if ARGV[4] == '' then
  call('ZREM', SCHEDULES_DUE, name)
else
  call('ZADD', SCHEDULES_DUE, ARGV[4], name)
end
return {'ok'}
