-- Returns the schedules that are due, and records that the queue is being watched.
-- ARGV: id of the caller, ms for which this watch is valid, maximum number of schedules,
--       then names and versions of schedules that the caller can't read: they are skipped
-- Returns {'ok', now, old, since, ms until the next schedule is due or -1, 1 if this
-- caller is the one to call again at that time, else 0, then name, due, version and
-- record of each due schedule}. No worker watched between old and since: times in
-- between were missed. All times are in ms.
-- @include queue when_full schedule turn
local caller, valid_ms, limit, max_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), 131072
local unreadable, skipped = {}, 0
for i = 4, #ARGV, 2 do
  unreadable[ARGV[i]] = ARGV[i + 1]
  skipped = skipped + 1
end

local due, first, next_due, bytes = {}, nil, nil, 0
local heads = call('ZRANGE', SCHEDULES_DUE, 0, limit + skipped, 'WITHSCORES')
for i = 1, #heads, 2 do
  local name, score = heads[i], tonumber(heads[i + 1])
  local is_due = score <= now
  local record = (is_due or unreadable[name]) and call('HGET', SCHEDULES, name)
  local version = record and version_of(record)
  if is_due and not record then
    call('ZREM', SCHEDULES_DUE, name) -- a time without a schedule
  elseif not version or unreadable[name] ~= version then
    first = first or score
    if not is_due or #due >= 4 * limit or bytes > max_bytes then
      next_due = score
      break
    end
    bytes = bytes + #record
    for _, value in ipairs({name, int(score), version, record}) do due[#due + 1] = value end
  end
end

-- The watch covers the times from since to until; the previous watch ended at old. Due
-- times in the gap were missed. If the due times of a gap were not dealt with yet, the
-- next gap extends it.
local old, since, valid_until, waker, waker_due = unpack(call('HMGET', SCHEDULES_WATCH, 'old', 'since', 'until', 'waker', 'waker_due'))
old, since, valid_until = tonumber(old) or 0, tonumber(since) or 0, tonumber(valid_until) or 0
if now > valid_until then
  if not first or first >= since then old = valid_until end
  since = now
elseif since > now then -- the clock went back: count nothing as missed
  since = 0
end
local state = {'old', int(old), 'since', int(since), 'until', int(now + valid_ms)}

local wait, is_waker = -1, true
if next_due then
  local score = next_due
  next_due = int(score)
  wait, is_waker = next_turn(score, next_due, caller, waker, waker_due)
  if is_waker then
    for _, value in ipairs({'waker', caller, 'waker_due', next_due}) do state[#state + 1] = value end
  end
end
-- A queue that never had a schedule needs no watch.
if first or valid_until > 0 then call('HSET', SCHEDULES_WATCH, unpack(state)) end

local out = {'ok', int(now), int(old), int(since), int(wait), is_waker and 1 or 0}
for _, value in ipairs(due) do out[#out + 1] = value end
return out
