-- Moves delayed jobs that are due into the due lines, or the retry lines if they failed, in
-- the order of their times.
-- ARGV: maximum number of jobs, id of the caller
-- Moves nothing while another caller works through a backlog.
-- Returns {'ok', number of jobs moved, µs until the next job is due or -1, 1 if this
-- caller is the one to call again at that time, else 0}.
-- @include queue place turn
local limit, caller = tonumber(ARGV[1]), ARGV[2]
local waker, waker_due, busy_until = unpack(call('HMGET', META, 'waker', 'waker_due', 'waker_busy'))
local busy = (tonumber(busy_until) or 0) - now
if waker ~= caller and busy > 0 and busy <= 100 then -- more than 100: the clock went back
  return {'ok', 0, busy * 1000, 0}
end
-- @include when_full

local MAX_BYTES = 262144 -- of records that one call moves, if they are more than one
local ids = call('ZRANGEBYSCORE', DELAYED, '-inf', int(now), 'LIMIT', 0, limit)
local moved, places = count_fitting(DELAYED_JOBS, ids, MAX_BYTES), {}
if moved > 0 then
  for i, record in ipairs(call('HMGET', DELAYED_JOBS, unpack(ids, 1, moved))) do
    local id = ids[i]
    local place = record and enter_due(id, record)
    if place then
      places[#places + 1] = id
      places[#places + 1] = place
    else
      local reason = record and 'its record is damaged' or 'it has a time but no record'
      bury(id, malformed(FRESH_NORMAL, {'job', record or ''}, 'malformed: ' .. reason) .. field('ended', int(now)))
    end
  end
end
local backlog = moved == limit or moved < #ids
if moved > 0 then
  if #places > 0 then call('HSET', MOVED, unpack(places)) end
  call('ZREMRANGEBYRANK', DELAYED, 0, moved - 1)
  call('HDEL', DELAYED_JOBS, unpack(ids, 1, moved))
end

local head = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
if not head[2] then return {'ok', moved, -1, 0} end
local wait, is_waker = next_turn(head[2], head[2], caller, waker, waker_due)
if is_waker then call('HSET', META, 'waker', caller, 'waker_due', head[2]) end
-- If more jobs are due than one call moves, only this caller continues, as long as it
-- calls again within 100 ms: several callers would only slow down each other and all
-- other clients.
if backlog then call('HSET', META, 'waker', caller, 'waker_busy', int(now + 100)) end
-- now is rounded down: a caller that waited whole ms would come half of one too late.
if wait > 0 then
  local time = call('TIME')
  wait = math.min(math.max(1, head[2] * 1000 - (time[1] * 1000000 + time[2])), 86400000000)
end
return {'ok', moved, wait, is_waker and 1 or 0}
