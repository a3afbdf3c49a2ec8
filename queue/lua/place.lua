-- Putting a job into another state, and what goes with a job. Each function
-- leaves it to its caller that the job has left the state it was in.

-- release gives a unique key back, if the job holds it.
local function release(key, id)
  if key and key ~= '' and call('HGET', UNIQUE, key) == id then
    call('HDEL', UNIQUE, key)
    call('ZREM', UNIQUE_EXPIRY, key)
  end
end

-- forget drops what is kept beside a job that has left the books.
local function forget(id)
  call('HDEL', LOGS, id)
  call('HDEL', PROGRESS, id)
  call('HDEL', CANCELLED, id)
end

-- delay puts a job where it waits for its time, and wakes the mover if it is
-- the first now.
local function delay(id, record, due)
  local head = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
  call('HSET', DELAYED_JOBS, id, record)
  call('ZADD', DELAYED, int(due), id)
  if not head[2] or due < tonumber(head[2]) then
    call('XADD', CONTROL, 'MAXLEN', '~', 1000, '*', 'do', 'due')
  end
end

-- enter puts a record at the end of a line.
local function enter(line, id, record)
  local entry = call('XADD', KEYS[line], '*', 'id', id, 'job', record)
  call('HSET', MOVED, id, line .. ' ' .. entry)
end

-- An archive keeps records by the time until which, or since when, they are
-- kept: a sorted set, a hash, and a field of META with the bytes.
local function drop(index, jobs, bytes, id)
  local size = call('HSTRLEN', jobs, id)
  local there = call('ZREM', index, id) + call('HDEL', jobs, id)
  if size > 0 then call('HINCRBY', META, bytes, -size) end -- minus zero is no number to Redis
  return there > 0
end

-- keep puts a record into an archive and drops those that are too old, too
-- many or too large: at most 20 a call, which is more than it puts in.
local function keep(index, jobs, bytes, id, record, score, oldest, most, most_bytes)
  drop(index, jobs, bytes, id)
  call('HSET', jobs, id, record)
  call('ZADD', index, int(score), id)
  local total = call('HINCRBY', META, bytes, #record)
  local dropped = 0
  local left = call('ZCARD', index)
  local first = call('ZRANGE', index, 0, 0, 'WITHSCORES')
  if tonumber(first[2]) >= oldest and left <= most and total <= most_bytes then return 0 end
  first = call('ZRANGE', index, 0, 19, 'WITHSCORES')
  for i = 1, #first, 2 do
    if tonumber(first[i + 1]) >= oldest and left <= most and total <= most_bytes or first[i] == id then break end
    total = total - call('HSTRLEN', jobs, first[i])
    drop(index, jobs, bytes, first[i])
    call('HDEL', LOGS, first[i])
    call('HDEL', PROGRESS, first[i])
    left = left - 1
    dropped = dropped + 1
  end
  return dropped
end

-- retain keeps what became of a job for some milliseconds.
local RESULTS_MOST, RESULTS_BYTES = 100000, 268435456
local function retain(id, record, keep_ms)
  keep(RESULTS, RESULTS_JOBS, 'result_bytes', id, record, now + keep_ms, now, RESULTS_MOST, RESULTS_BYTES)
end

-- tell writes an event, where a queue has events. With an ending it wakes those
-- who wait for the end of this very job: a record that nobody else keeps, which
-- then stays for long enough to be read, or true where there is none or
-- somebody keeps it.
local TOLD_MS = 30000
local function tell(what, id, ending)
  event(what, id)
  if ending and call('ZREM', WAITED, id) == 1 then
    if ending ~= true then retain(id, ending, TOLD_MS) end
    call('XADD', DONE, 'MAXLEN', '~', 1000, '*', 'id', id)
    return true
  end
end

-- bury puts a job among the dead.
local DEAD_MOST, DEAD_BYTES, DEAD_AGE = 100000, 268435456, 90 * 86400000
local function bury(id, record)
  local dropped = keep(DEAD, DEAD_JOBS, 'dead_bytes', id, record, now, now - DEAD_AGE, DEAD_MOST, DEAD_BYTES)
  count('dead', 1)
  count('dead_dropped', dropped)
  call('HDEL', CANCELLED, id)
  tell('dead', id, true)
end

-- cancel ends a job that somebody wants no more. A key that is held for a
-- duration stays.
local function cancel(id, record)
  record = record .. field('outcome', 'cancelled') .. field('ended', int(now))
  if find(record, 'scope') ~= 'duration' then release(find(record, 'unique'), id) end
  count('cancelled', 1)
  local told = tell('cancelled', id, record)
  local keep_ms = tonumber(find(record, 'retain')) or 0
  if keep_ms > 0 then
    call('HDEL', CANCELLED, id)
    retain(id, record, told and math.max(keep_ms, TOLD_MS) or keep_ms)
  else
    forget(id)
  end
end
