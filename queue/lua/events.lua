-- Makes a queue keep events, or no more.
-- ARGV: how many, about; 0 for none
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
