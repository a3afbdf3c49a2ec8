-- Pauses or resumes a queue.
-- ARGV: 'pause' or 'resume', who pauses it or '', a note for others or ''. A pause of a paused queue keeps its
-- time, and with a note or a name replaces both.
-- Returns {'ok'}.
-- @include queue when_full signal
write_format()
if ARGV[1] == 'pause' then
  call('HSET', META, 'paused', paused or int(now))
  local by, note = ARGV[2] or '', ARGV[3] or ''
  if by ~= '' or note ~= '' then
    call('HSET', META, 'paused_by', by, 'paused_note', note)
  end
else
  call('HDEL', META, 'paused', 'paused_by', 'paused_note')
end
signal(ARGV[1])
return {'ok'}
