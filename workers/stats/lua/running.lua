-- Writes what a pool runs of a queue, or claims to ask the pools for it.
-- KEYS: watched, running
-- ARGV: pool and its jobs, or nothing to claim
-- Returns {'ok', time in ms since 1970, 1 if the caller is to ask the pools, else 0}.
-- @include int clock
local call, now = redis.call, clock_ms()
local ASK_EVERY_MS, KEEP_MS, CHECKED = 10000, 30000, 5
if #ARGV == 0 then
  return {'ok', int(now), call('SET', WATCHED, '1', 'NX', 'PX', ASK_EVERY_MS) and 1 or 0}
end
-- Rows of pools that are gone are removed, some at a time: each pool checks a few.
local rows = call('HRANDFIELD', RUNNING, CHECKED, 'WITHVALUES')
for i = 1, #rows, 2 do
  if tonumber(string.match(rows[i + 1], '^%d+') or 0) < now - KEEP_MS then call('HDEL', RUNNING, rows[i]) end
end
call('HSET', RUNNING, ARGV[1], int(now) .. ' ' .. ARGV[2])
call('PEXPIRE', RUNNING, KEEP_MS)
return {'ok', int(now), 0}
