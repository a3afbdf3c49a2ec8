-- Functions that put a job into another state. The caller has already removed the job
-- from its previous state.
-- @include record delay

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

-- enter adds a record to the end of a line, with names and values that amend it.
local function enter(line, id, record, ...)
  local entry = call('XADD', KEYS[line], '*', 'id', id, 'job', record, ...)
  call('HSET', MOVED, id, line .. ' ' .. entry)
end

-- An archive is a sorted set of ids by the time of death or expiry, a hash of records
-- (jobs), and a field of META with their size in bytes (bytes_field). drop removes a job
-- from one.
local function drop(index, jobs, bytes_field, id)
  local size = call('HSTRLEN', jobs, id)
  local there = call('ZREM', index, id) + call('HDEL', jobs, id)
  if size > 0 then call('HINCRBY', META, bytes_field, -size) end -- Redis refuses -0
  return there > 0
end

-- limits returns the limits of an archive ('dead' or 'results'): jobs, bytes, and age in
-- ms, which defaults to age.
local function limits(archive, age)
  local stored = call('HMGET', META, archive .. '_most', archive .. '_most_bytes', archive .. '_most_ms')
  return tonumber(stored[1]) or 100000, tonumber(stored[2]) or 268435456, tonumber(stored[3]) or age
end

-- trim drops jobs of an archive with a score before oldest and those beyond its limits,
-- the lowest scores first and at most max_drops; it stops at except_id. It returns their
-- number. Clients may wait for results that expire within WAIT_MS: beside others these may be as many
-- and as large again, and the others are dropped first.
local WAIT_MS = 30000
local function trim(index, jobs, bytes_field, oldest, max_jobs, max_bytes, max_drops, except_id)
  local bytes, left = tonumber(call('HGET', META, bytes_field)) or 0, call('ZCARD', index)
  local first = call('ZRANGE', index, 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) >= oldest and left <= max_jobs and bytes <= max_bytes then return 0 end
  local from = 0
  if index == RESULTS then
    local short = call('ZCOUNT', index, '-inf', int(now + WAIT_MS))
    if short > 0 and short < left and short <= max_jobs and bytes <= 2 * max_bytes then
      if tonumber(first[2]) >= oldest then from = short end
      max_jobs, max_bytes = max_jobs + short, 2 * max_bytes
    end
  end
  first = call('ZRANGE', index, from, from + max_drops - 1, 'WITHSCORES')
  local dropped = 0
  for i = 1, #first, 2 do
    if tonumber(first[i + 1]) >= oldest and left <= max_jobs and bytes <= max_bytes or first[i] == except_id then break end
    bytes = bytes - call('HSTRLEN', jobs, first[i])
    drop(index, jobs, bytes_field, first[i])
    forget(first[i])
    left = left - 1
    dropped = dropped + 1
  end
  return dropped
end

-- keep adds a record to an archive, and drops jobs beyond its limits: at most 20 per
-- call, so that an archive shrinks.
local function keep(index, jobs, bytes_field, id, record, score, oldest, max_jobs, max_bytes)
  drop(index, jobs, bytes_field, id)
  note_size(record)
  call('HSET', jobs, id, record)
  call('ZADD', index, int(score), id)
  call('HINCRBY', META, bytes_field, #record)
  return trim(index, jobs, bytes_field, oldest, max_jobs, max_bytes, 20, id)
end

-- retain stores the result of a job for keep_ms, or less if the queue's retention is
-- shorter, but long enough for clients that wait for it.
local function retain(id, record, keep_ms)
  local max_jobs, max_bytes, age = limits('results', keep_ms)
  keep_ms = math.min(keep_ms, math.max(age, WAIT_MS))
  keep(RESULTS, RESULTS_JOBS, 'result_bytes', id, record, now + keep_ms, now, max_jobs, max_bytes)
end

-- notify writes the event what of a job. ended is nil unless the job has ended; then it
-- is the job's record, or true if no record is to be stored here. If a client waits for
-- that end, notify stores the record long enough to be read, informs the client, and
-- returns true.
local function notify(what, id, ended)
  event(what, id)
  if ended and call('ZREM', WAITED, id) == 1 then
    if ended ~= true then retain(id, ended, WAIT_MS) end
    call('XADD', DONE, 'MAXLEN', '~', 1000, '*', 'id', id)
    return true
  end
end

-- bury adds a job to the dead ones.
local DEAD_MS = 90 * 86400000
local function bury(id, record)
  local max_jobs, max_bytes, age = limits('dead', DEAD_MS)
  local dropped = keep(DEAD, DEAD_JOBS, 'dead_bytes', id, record, now, now - age, max_jobs, max_bytes)
  count('dead', 1)
  count('dead_dropped', dropped)
  call('HDEL', CANCELLED, id)
  notify('dead', id, true)
end

-- finish ends a job with the outcome and the end that its record has, and stores the record
-- for keep_ms.
local COUNTERS = {succeeded = 'done', discarded = 'discarded', cancelled = 'cancelled'}
local function finish(outcome, id, record, key, scope, keep_ms)
  release(key, id, scope)
  count(COUNTERS[outcome], 1)
  local awaited = notify(outcome, id, record)
  if keep_ms > 0 then
    call('HDEL', CANCELLED, id)
    retain(id, record, awaited and math.max(keep_ms, WAIT_MS) or keep_ms)
  else
    forget(id)
  end
end

-- cancel finishes a job as cancelled.
local function cancel(id, record)
  local ended = record .. field('outcome', 'cancelled') .. field('ended', int(now))
  finish('cancelled', id, ended, find(record, 'unique'), find(record, 'scope'), tonumber(find(record, 'retain')) or 0)
end
