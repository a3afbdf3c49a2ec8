-- Moves delayed jobs that are due into the due lines, or the retry lines if they failed, in
-- the order of their times.
-- ARGV: maximum number of jobs, id of the caller
-- Moves nothing while another caller works through a backlog.
-- Returns {'ok', number of jobs moved, ms until the next job is due or -1, 1 if this
-- caller is the one to call again at that time, else 0}.
-- @include queue place turn
local limit, caller = tonumber(ARGV[1]), ARGV[2]
local waker, waker_due, busy_until = unpack(call('HMGET', META, 'waker', 'waker_due', 'waker_busy'))
local busy = (tonumber(busy_until) or 0) - now
if waker ~= caller and busy > 0 and busy <= 100 then -- more than 100: the clock went back
  return {'ok', 0, busy, 0}
end
-- @include when_full

local ids = call('ZRANGEBYSCORE', DELAYED, '-inf', int(now), 'LIMIT', 0, limit)
local backlog, size = #ids == limit, 0
for i, id in ipairs(ids) do
  size = size + call('HSTRLEN', DELAYED_JOBS, id)
  if size > 262144 then
    for cut = #ids, i + 1, -1 do ids[cut], backlog = nil, true end
    break
  end
end
if #ids > 0 then
  local records = call('HMGET', DELAYED_JOBS, unpack(ids))
  for i, id in ipairs(ids) do
    local line = records[i] and entry_line(records[i])
    if line then
      enter(line, id, records[i])
    else
      local reason = records[i] and 'its record is damaged' or 'it has a time but no record'
      bury(id, malformed(6, {'job', records[i] or ''}, 'malformed: ' .. reason) .. field('ended', int(now)))
    end
  end
  call('ZREM', DELAYED, unpack(ids))
  call('HDEL', DELAYED_JOBS, unpack(ids))
end

local head = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
if not head[2] then return {'ok', #ids, -1, 0} end
local wait, is_waker = next_turn(head[2], head[2], caller, waker, waker_due)
if is_waker then call('HSET', META, 'waker', caller, 'waker_due', head[2]) end
-- If more jobs are due than one call moves, only this caller continues, as long as it
-- calls again within 100 ms: several callers would only slow down each other and all
-- other clients.
if backlog then call('HSET', META, 'waker', caller, 'waker_busy', int(now + 100)) end
return {'ok', #ids, wait, is_waker and 1 or 0}
