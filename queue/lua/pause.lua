-- Lets workers take no more jobs, or again.
-- ARGV: 'pause' or 'resume'
-- Returns {'ok'}; {'newer', format}.
-- A full Redis refuses what may grow unless the script has written before; this
-- must work there, or a full queue is never emptied.
call('ZREM', TOMBS, '')
if not settings[1] then call('HSET', META, 'format', '1') end
if ARGV[1] == 'pause' then
  call('HSET', META, 'paused', settings[2] or int(now))
else
  call('HDEL', META, 'paused')
end
call('XADD', CONTROL, 'MAXLEN', '~', 1000, '*', 'do', ARGV[1])
return {'ok'}
