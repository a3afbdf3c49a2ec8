-- Stores how a worker's attempts ended. If the worker has lost its lease nothing is
-- changed. A job that it doesn't hold is skipped, so that the call can be repeated.
-- ARGV: worker, then any of these, in any order:
--   'ok', line, n, n entries           successes that only remove their entries, which are
--                                      sorted by id, and what the queue stores about the jobs;
--                                      if it is no fresh line n ids of the jobs follow
--   'end', line, entry, id, outcome, unique key, scope, ms to retain, record
--                                      the job finished with this outcome
--   'then', n, n jobs as in enqueue_job.lua, 'end' and its arguments
--                                      the same, and adds the n jobs if it changes the job
--   'retry', line, entry, id, record, ms to wait, 1 if the attempt failed else 0
--   'dead', line, entry, id, unique key, scope, record
--   'back', line, entry, id            handed back to the front, unfinished
--   'malformed', line, entry, reason   not a valid job
-- Returns {'ok', for each of these the number of jobs that it changed}; {'lost'}. After a
-- 'then' of which some jobs were not added, because other jobs hold their unique keys, it is
-- instead a list: for each of them the id of the job that they follow, their place among the
-- n jobs, their key, and its holder.
-- @include queue worker entries groups
-- ids_of returns the ids of the n jobs of an 'ok' whose entries begin at ARGV[first].
local function ids_of(line, first, n)
  if not is_fresh(line) then return {unpack(ARGV, first + n, first + 2 * n - 1)} end
  local ids, letter = {}, letter_of(line)
  for e = 1, n do ids[e] = letter .. ARGV[first + e - 1] end
  return ids
end

-- @lazy make_handlers return unique finish_others

-- One command acknowledges all successes of a line, unless the queue keeps events or one
-- of these jobs is awaited.
local awaited = call('EXISTS', WAITED) == 1
local side_data = {} -- the keys with cancellations, logs and progress that the queue has
for _, key in ipairs({CANCELLED, LOGS, PROGRESS}) do
  if call('EXISTS', key) == 1 then side_data[#side_data + 1] = key end
end

-- clear removes acknowledged entries, ARGV[first] to ARGV[last], which are sorted.
-- Entries are delivered in order, so everything before the first entry that a worker
-- still holds is finished and can be trimmed; if none is held, everything before these
-- entries. That removes whole nodes of the stream, while XDEL searches a node for each
-- entry (measured: 0.1 against 1.5 microseconds per entry).
local WORTH_TRIMMING = 16
local function clear(key, first, last)
  if last - first >= WORTH_TRIMMING then
    local held = call('XPENDING', key, GROUP, '-', '+', 1)[1]
    local bound = held and held[1] or ARGV[last]
    call('XTRIM', key, 'MINID', bound)
    local after = last + 1
    while first < after do
      local middle = math.floor((first + after) / 2)
      if before(ARGV[middle], bound) then first = middle + 1 else after = middle end
    end
  end
  if first <= last then call('XDEL', key, unpack(ARGV, first, last)) end
end

-- is_awaited reports whether one of the jobs with these ids is awaited.
local function is_awaited(ids)
  for _, time in ipairs(call('ZMSCORE', WAITED, unpack(ids))) do
    if time then return true end
  end
  return false
end

-- in_line returns the ids of those jobs of an 'ok' whose entries exist. In a call that is
-- repeated the others may be in another place by now.
local function in_line(line, first, ids)
  local found = {}
  for e = 1, #ids do
    local entry = ARGV[first + e - 1]
    if #call('XRANGE', KEYS[line], entry, entry) > 0 then found[#found + 1] = ids[e] end
  end
  return found
end

-- count_delivered returns how many of the n sorted entries of an 'ok' were delivered, if not
-- all of them were acknowledged. The others wait: Redis has lost their deliveries, and they are
-- delivered again.
local function count_delivered(line, first, n)
  local group = find_group(KEYS[line], GROUP)
  while group and n > 0 and before(group['last-delivered-id'], ARGV[first + n - 1]) do n = n - 1 end
  return n
end

-- ack_all finishes an 'ok' with one command for each key. It returns nil if that is not
-- enough.
local function ack_all(i)
  local line, n, first = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), i + 2
  local fresh = is_fresh(line)
  local ids = not fresh or awaited or #side_data > 0
  ids = ids and ids_of(line, first, n)
  if max_events or awaited and is_awaited(ids) then return nil end
  local acked = call('XACK', KEYS[line], GROUP, unpack(ARGV, first, first + n - 1))
  if acked > 0 then
    local delivered = acked < n and count_delivered(line, first, n) or n
    if ids and acked < n then ids = in_line(line, first, {unpack(ids, 1, delivered)}) end
    clear(KEYS[line], first, first + delivered - 1)
    if ids and #ids > 0 then
      for _, key in ipairs(side_data) do call('HDEL', key, unpack(ids)) end
      if not fresh then call('HDEL', MOVED, unpack(ids)) end
    end
  end
  count('done', acked)
  return first + n + (fresh and 0 or n), acked
end

local out, i, handlers = {'ok'}, 2, nil
while i <= #ARGV do
  local after, changed
  if ARGV[i] == 'ok' then after, changed = ack_all(i + 1) end
  if not after then
    handlers = handlers or make_handlers()
    after, changed = handlers[ARGV[i]](i + 1)
  end
  i, out[#out + 1] = after, changed
end
return out
