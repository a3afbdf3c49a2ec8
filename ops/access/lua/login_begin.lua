#!lua flags=allow-oom
-- Counts a login that begins as a wrong one, by its name and by its address, unless there were too
-- many. Its rows are bounded, and a full Redis must not keep out who can make room.
-- KEYS: logins, logins:end
-- ARGV: length of the window in ms, maximum number of rows, then for each row: its name, maximum
--   number of wrong logins, pause in ms after the second wrong one, which doubles with each further
--   one
-- Returns {'ok'}, or {'wait', ms until the next try} without counting.
-- @include int clock
local call, now = redis.call, clock_ms()
local function remove(rows)
  for _, row in ipairs(rows) do
    call('HDEL', LOGINS, row)
    call('ZREM', LOGINS_END, row)
  end
end
remove(call('ZRANGEBYSCORE', LOGINS_END, '-inf', int(now), 'LIMIT', 0, 100))
-- read returns the number of wrong logins of a row, the time of the last one, and when the row ends.
local function read(row)
  local ends = tonumber(call('ZSCORE', LOGINS_END, row) or 0)
  if ends <= now then return 0, 0, now + ARGV[1] end
  local count, last = string.match(call('HGET', LOGINS, row) or '', '^(%d+) (%d+)$')
  return tonumber(count or 0), tonumber(last or 0), ends
end
local wait = 0
for i = 3, #ARGV, 3 do
  local count, last, ends = read(ARGV[i])
  if count >= tonumber(ARGV[i + 1]) then
    wait = math.max(wait, ends - now)
  elseif count > 1 then
    wait = math.max(wait, last + ARGV[i + 2] * 2 ^ (count - 2) - now)
  end
end
if wait > 0 then return {'wait', math.ceil(wait)} end
for i = 3, #ARGV, 3 do
  local count, _, ends = read(ARGV[i])
  if count == 0 and call('ZCARD', LOGINS_END) >= tonumber(ARGV[2]) then remove(call('ZRANGE', LOGINS_END, 0, 0)) end
  call('HSET', LOGINS, ARGV[i], int(count + 1) .. ' ' .. int(now))
  call('ZADD', LOGINS_END, int(ends), ARGV[i])
end
return {'ok'}
