-- Functions that put a job into another state. The caller has already removed the job
-- from its previous state.
-- @include record signal

-- release frees a unique key if the job holds it. If a scope is passed, a key that is
-- held for a duration stays.
local function release(key, id, scope)
  if key and key ~= '' and scope ~= 'duration' and call('HGET', UNIQUE, key) == id then
    call('HDEL', UNIQUE, key)
    call('ZREM', UNIQUE_EXPIRY, key)
  end
end

-- forget deletes the log, the progress and the cancellation of a job.
local function forget(id)
  call('HDEL', LOGS, id)
  call('HDEL', PROGRESS, id)
  call('HDEL', CANCELLED, id)
end

-- delay adds a job to the delayed ones, and wakes the mover if it is the first of
-- them.
local function delay(id, record, due)
  local head = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
  call('HSET', DELAYED_JOBS, id, record)
  call('ZADD', DELAYED, int(due), id)
  if not head[2] or due < tonumber(head[2]) then
    signal('due')
  end
end

-- enter adds a record to the end of a line.
local function enter(line, id, record)
  local entry = call('XADD', KEYS[line], '*', 'id', id, 'job', record)
  call('HSET', MOVED, id, line .. ' ' .. entry)
end

-- An archive is a sorted set of ids by the time of death or expiry, a hash of records,
-- and a field of META with their size in bytes. drop removes a job from one.
local function drop(index, jobs, bytes, id)
  local size = call('HSTRLEN', jobs, id)
  local there = call('ZREM', index, id) + call('HDEL', jobs, id)
  if size > 0 then call('HINCRBY', META, bytes, -size) end -- Redis refuses -0
  return there > 0
end

-- limits returns the limits of an archive ('dead' or 'results'): jobs, bytes, and age in
-- ms, which defaults to age.
local function limits(archive, age)
  local stored = call('HMGET', META, archive .. '_most', archive .. '_most_bytes', archive .. '_most_ms')
  return tonumber(stored[1]) or 100000, tonumber(stored[2]) or 268435456, tonumber(stored[3]) or age
end

-- trim drops jobs beyond the limits of an archive, oldest first and at most at_most, but
-- not the spared one. It returns their number.
local function trim(index, jobs, bytes, oldest, most, most_bytes, at_most, spared)
  local total, left = tonumber(call('HGET', META, bytes)) or 0, call('ZCARD', index)
  local first = call('ZRANGE', index, 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) >= oldest and left <= most and total <= most_bytes then return 0 end
  first = call('ZRANGE', index, 0, at_most - 1, 'WITHSCORES')
  local dropped = 0
  for i = 1, #first, 2 do
    if tonumber(first[i + 1]) >= oldest and left <= most and total <= most_bytes or first[i] == spared then break end
    total = total - call('HSTRLEN', jobs, first[i])
    drop(index, jobs, bytes, first[i])
    forget(first[i])
    left = left - 1
    dropped = dropped + 1
  end
  return dropped
end

-- keep adds a record to an archive, and drops jobs beyond its limits: at most 20 per
-- call, so that an archive shrinks.
local function keep(index, jobs, bytes, id, record, score, oldest, most, most_bytes)
  drop(index, jobs, bytes, id)
  call('HSET', jobs, id, record)
  call('ZADD', index, int(score), id)
  call('HINCRBY', META, bytes, #record)
  return trim(index, jobs, bytes, oldest, most, most_bytes, 20, id)
end

-- retain stores the result of a job for keep_ms, or less if the queue's retention is
-- shorter, but long enough for clients that wait for it.
local WAIT_MS = 30000
local function retain(id, record, keep_ms)
  local most, most_bytes, age = limits('results', keep_ms)
  keep_ms = math.min(keep_ms, math.max(age, WAIT_MS))
  keep(RESULTS, RESULTS_JOBS, 'result_bytes', id, record, now + keep_ms, now, most, most_bytes)
end

-- tell writes an event. If the job has ended, it also notifies clients that wait for it,
-- and returns whether there are any. ending is then the job's record, which is stored
-- long enough to be read, or true if there is no record or another place stores it.
local function tell(what, id, ending)
  event(what, id)
  if ending and call('ZREM', WAITED, id) == 1 then
    if ending ~= true then retain(id, ending, WAIT_MS) end
    call('XADD', DONE, 'MAXLEN', '~', 1000, '*', 'id', id)
    return true
  end
end

-- bury adds a job to the dead ones.
local DEAD_MS = 90 * 86400000
local function bury(id, record)
  local most, most_bytes, age = limits('dead', DEAD_MS)
  local dropped = keep(DEAD, DEAD_JOBS, 'dead_bytes', id, record, now, now - age, most, most_bytes)
  count('dead', 1)
  count('dead_dropped', dropped)
  call('HDEL', CANCELLED, id)
  tell('dead', id, true)
end

-- finish ends a job with the outcome that its record has, and stores the record for
-- keep_ms.
local COUNTERS = {succeeded = 'done', discarded = 'discarded', cancelled = 'cancelled'}
local function finish(outcome, id, record, key, scope, keep_ms)
  record = record .. field('ended', int(now))
  release(key, id, scope)
  count(COUNTERS[outcome], 1)
  local awaited = tell(outcome, id, record)
  if keep_ms > 0 then
    call('HDEL', CANCELLED, id)
    retain(id, record, awaited and math.max(keep_ms, WAIT_MS) or keep_ms)
  else
    forget(id)
  end
end

-- cancel finishes a job as cancelled.
local function cancel(id, record)
  finish('cancelled', id, record .. field('outcome', 'cancelled'), find(record, 'unique'), find(record, 'scope'), tonumber(find(record, 'retain')) or 0)
end
