-- Stores or removes a schedule if it has not changed since it was read. It can be
-- repeated.
-- ARGV: name, version that was read or '', record or '' to remove, time in ms at which it
--       fires next, '' to keep that or 'never', maximum number of schedules of a queue
-- Returns {'ok'}; {'moved'} if it was changed meanwhile; {'full'}.
-- @include queue schedule signal
local name, read, record, due = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local there = call('HGET', SCHEDULES, name)
if (there or '') == record then return {'ok'} end
if (there and version_of(there) or '') ~= read then return {'moved'} end

if record == '' then
  call('HDEL', SCHEDULES, name)
  call('HDEL', SCHEDULES_FIRED, name)
  call('ZREM', SCHEDULES_DUE, name)
else
  if not there and call('HLEN', SCHEDULES) >= tonumber(ARGV[5]) then return {'full'} end
  write_format()
  call('HSET', SCHEDULES, name, record)
  if due == 'never' then
    call('ZREM', SCHEDULES_DUE, name)
  elseif due ~= '' then
    call('ZADD', SCHEDULES_DUE, due, name)
  end
end
signal('schedule')
return {'ok'}
