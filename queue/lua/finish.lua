-- Stores how a worker's attempts ended. If the worker has lost its lease nothing is
-- changed. A job that it doesn't hold is skipped, so that the call can be repeated.
-- ARGV: worker, then any of these, in any order:
--   'ok', line, n, n entries           successes that only remove their entries, which are
--                                      sorted by id
--   'end', line, entry, id, outcome, unique key, scope, ms to retain, record
--                                      the job finished with this outcome
--   'then', n, n jobs as in enqueue_job.lua, 'end' and its arguments
--                                      the same, and adds the n jobs if it changes the job
--   'retry', line, entry, id, record, ms to wait, 1 if the attempt failed else 0
--   'dead', line, entry, id, unique key, scope, record
--   'back', line, entry, id            handed back to the front, unfinished
--   'malformed', line, entry, reason   not a valid job
-- Returns {'ok', for each of these the number of jobs that it changed}; {'lost'}.
-- @include queue worker entries
-- @lazy make_handlers return unique finish_others
-- If the queue keeps no events and no job is awaited, cancelled or has a log or progress,
-- a success only removes its entry, and one command acknowledges all successes of a line.
local has_side_data = max_events or call('EXISTS', WAITED, CANCELLED, LOGS, PROGRESS) > 0

-- clear removes acknowledged entries, ARGV[first] to ARGV[last], which are sorted.
-- Entries are delivered in order, so everything before the first entry that a worker
-- still holds is finished and can be trimmed. That removes whole nodes of the stream,
-- while XDEL searches a node for each entry (measured: 0.1 against 1.5 microseconds
-- per entry).
local WORTH_TRIMMING = 16
local function clear(key, first, last)
  if last - first >= WORTH_TRIMMING then
    local held = call('XPENDING', key, GROUP, '-', '+', 1)[1]
    if held then
      call('XTRIM', key, 'MINID', held[1])
      local after = last + 1
      while first < after do
        local middle = math.floor((first + after) / 2)
        if before(ARGV[middle], held[1]) then first = middle + 1 else after = middle end
      end
    end
  end
  if first <= last then call('XDEL', key, unpack(ARGV, first, last)) end
end

-- ack_all finishes an 'ok' with one command.
local function ack_all(i)
  local first, last = i + 2, i + 1 + tonumber(ARGV[i + 1])
  local key = KEYS[tonumber(ARGV[i])]
  local acked = call('XACK', key, GROUP, unpack(ARGV, first, last))
  if acked > 0 then clear(key, first, last) end
  count('done', acked)
  return last + 1, acked
end

local out, i, handlers = {'ok'}, 2, nil
while i <= #ARGV do
  local handler = ack_all
  if has_side_data or ARGV[i] ~= 'ok' then
    handlers = handlers or make_handlers()
    handler = handlers[ARGV[i]]
  end
  i, out[#out + 1] = handler(i + 1)
end
return out
