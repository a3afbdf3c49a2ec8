#!lua flags=allow-oom
-- Reads a session, and makes it last for another idle time, up to its end. It needs no memory.
-- KEYS: sessions, sessions:end
-- ARGV: hash of its id, length in ms when idle, or 0 to let it end when it would
-- Returns {'ok', its record, ms until its end}, or {'none'} if there is none, or it has ended.
-- @include int clock
local call, now = redis.call, clock_ms()
local row, idle_end = call('HGET', SESSIONS, ARGV[1]), call('ZSCORE', SESSIONS_END, ARGV[1])
local ends, record = string.match(row or '', '^(%d+) (.*)$')
if not ends or not idle_end or tonumber(idle_end) <= now or tonumber(ends) <= now then
  call('HDEL', SESSIONS, ARGV[1])
  call('ZREM', SESSIONS_END, ARGV[1])
  return {'none'}
end
if ARGV[2] ~= '0' then call('ZADD', SESSIONS_END, int(math.min(now + ARGV[2], tonumber(ends))), ARGV[1]) end
return {'ok', record, int(tonumber(ends) - now)}
