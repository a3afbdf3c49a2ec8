-- Gives the schedules that are due, and notes that somebody watches.
-- ARGV: name of the caller, ms for which it vouches, most schedules, then names and
--       versions of schedules that the asker can't read: they are passed over
-- Returns {'ok', now, old, since, ms until the next is due or -1, 1 when it is
-- the asker who is to come then on time, else 0, then name, due, version and
-- record of each that is due}. Nobody watched after old and
-- before since: what fell due between them was missed. All times in ms.
-- @include queue when_full schedule turn
local caller, vouch_ms, most, most_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), 131072
local unreadable, passed = {}, 0
for i = 4, #ARGV, 2 do
  unreadable[ARGV[i]] = ARGV[i + 1]
  passed = passed + 1
end

local due, first, next_due, bytes = {}, nil, nil, 0
local heads = call('ZRANGE', SCHEDULES_DUE, 0, most + passed, 'WITHSCORES')
for i = 1, #heads, 2 do
  local name, score = heads[i], tonumber(heads[i + 1])
  local is_due = score <= now
  local record = (is_due or unreadable[name]) and call('HGET', SCHEDULES, name)
  local version = record and version_of(record)
  if is_due and not record then
    call('ZREM', SCHEDULES_DUE, name) -- a time of nothing
  elseif not version or unreadable[name] ~= version then
    first = first or score
    if not is_due or #due >= 4 * most or bytes > most_bytes then
      next_due = score
      break
    end
    bytes = bytes + #record
    for _, value in ipairs({name, int(score), version, record}) do due[#due + 1] = value end
  end
end

-- Watchers vouch from since to until. What a watcher finds due before that was
-- missed, unless the watch before, which ended at old, had vouched for it. A gap
-- that nobody has dealt with grows by the next one.
local old, since, vouched, waker, waker_due = unpack(call('HMGET', SCHEDULES_WATCH, 'old', 'since', 'until', 'waker', 'waker_due'))
old, since, vouched = tonumber(old) or 0, tonumber(since) or 0, tonumber(vouched) or 0
if now > vouched then
  if not first or first >= since then old = vouched end
  since = now
elseif since > now then -- the clock went back: who knows what was missed?
  since = 0
end
local state = {'old', int(old), 'since', int(since), 'until', int(now + vouch_ms)}

local wait, mine = -1, true
if next_due then
  local score = next_due
  next_due = int(score)
  wait, mine = next_turn(score, next_due, caller, waker, waker_due)
  if mine then
    for _, value in ipairs({'waker', caller, 'waker_due', next_due}) do state[#state + 1] = value end
  end
end
-- Where nothing was ever scheduled there is nothing to vouch for.
if first or vouched > 0 then call('HSET', SCHEDULES_WATCH, unpack(state)) end

local out = {'ok', int(now), int(old), int(since), int(wait), mine and 1 or 0}
for _, value in ipairs(due) do out[#out + 1] = value end
return out
