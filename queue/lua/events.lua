-- Sets how many events a queue keeps.
-- ARGV: about the number of events; 0 means none
-- Returns {'ok'}.
-- @include queue
write_format()
if ARGV[1] == '0' then
  call('HDEL', META, 'events')
  call('UNLINK', EVENTS)
else
  call('HSET', META, 'events', ARGV[1])
end
return {'ok'}
