-- Ends what a worker did with some jobs. Where the worker has lost its lease
-- nothing is changed; a job that it doesn't hold (any more) is passed over, so
-- that the call can be repeated.
-- ARGV: worker, and one after the other:
--   'ok', line, n, n entries in order  they succeeded and need no more than that
--   'end', line, entry, id, outcome, unique key, scope, retain ms, record
--   'then', n, n jobs as in enqueue_job.lua, and an 'end' that they follow
--   'retry', line, entry, id, record, ms to wait, 1 if the attempt failed else 0
--   'dead', line, entry, id, unique key, scope, record
--   'back', line, entry, id            to the front, unfinished
--   'malformed', line, entry, reason   it is no job
-- Returns {'ok', for each of them the number of jobs that it changed};
-- {'lost'}.
-- @include queue worker entries
-- @lazy operations return unique finish_others
-- Most queues keep nothing beside their jobs; then a batch goes all at once.
local beside = max_events or call('EXISTS', WAITED, CANCELLED, LOGS, PROGRESS) > 0

-- clear removes entries that were acknowledged, ARGV[first] to ARGV[last] in
-- order. Lines are given out in order, so all that comes before the first entry
-- which a worker still has is finished, and is trimmed: that takes whole nodes
-- of the stream away, where XDEL walks through a node for each entry (measured:
-- 0.1 against 1.5 microseconds an entry).
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

-- all acknowledges successes at once.
local function all(i)
  local first, last = i + 2, i + 1 + tonumber(ARGV[i + 1])
  local key = KEYS[tonumber(ARGV[i])]
  local taken = call('XACK', key, GROUP, unpack(ARGV, first, last))
  if taken > 0 then clear(key, first, last) end
  count('done', taken)
  return last + 1, taken
end

local out, i, others = {'ok'}, 2, nil
while i <= #ARGV do
  local operation = all
  if beside or ARGV[i] ~= 'ok' then
    others = others or operations()
    operation = others[ARGV[i]]
  end
  i, out[#out + 1] = operation(i + 1)
end
return out
