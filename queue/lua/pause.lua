-- Pauses or resumes a queue.
-- ARGV: 'pause' or 'resume'
-- Returns {'ok'}.
-- @include queue when_full signal
write_format()
if ARGV[1] == 'pause' then
  call('HSET', META, 'paused', paused or int(now))
else
  call('HDEL', META, 'paused')
end
signal(ARGV[1])
return {'ok'}
