#!lua flags=allow-oom
-- Adds a session. Where there are too many, the one that would end first makes room. So they are
-- bounded, and a full Redis must not keep out who can make room.
-- KEYS: sessions, sessions:end
-- ARGV: hash of its id, record, length in ms when idle, length in ms, maximum number of sessions
-- Returns {'ok'}.
-- @include int clock
local call, now = redis.call, clock_ms()
local function remove(hashes)
  for _, hash in ipairs(hashes) do
    call('HDEL', SESSIONS, hash)
    call('ZREM', SESSIONS_END, hash)
  end
end
remove(call('ZRANGEBYSCORE', SESSIONS_END, '-inf', int(now), 'LIMIT', 0, 100))
if call('ZCARD', SESSIONS_END) >= tonumber(ARGV[5]) then remove(call('ZRANGE', SESSIONS_END, 0, 0)) end
call('HSET', SESSIONS, ARGV[1], int(now + ARGV[4]) .. ' ' .. ARGV[2])
call('ZADD', SESSIONS_END, int(now + math.min(ARGV[3], ARGV[4])), ARGV[1])
call('PEXPIRE', SESSIONS, ARGV[4])
call('PEXPIRE', SESSIONS_END, ARGV[4])
return {'ok'}
