-- Returns the functions for completions that need more than an acknowledgement, for
-- finish.lua. Each takes the index of its first argument in ARGV, and returns the index
-- after its last one and the number of jobs that it changed, or another element of the
-- reply.
-- @lazy job_adder enqueue_job
local function take(line, entry)
  if call('XACK', KEYS[line], GROUP, entry) == 0 then return false end
  call('XDEL', KEYS[line], entry)
  return true
end

-- global_id returns the id of a job for clients: with the hash tag of the keys in front.
local function global_id(id) return string.match(META, '{([^}]*)}') .. ':' .. id end

local handlers = {}

-- Successes one by one, because the queue keeps events or one of the jobs is awaited.
function handlers.ok(i)
  local line, n, first, changed = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), i + 2, 0
  local key, ids = KEYS[line], ids_of(line, first, n)
  for e = 1, n do
    local entry, id = ARGV[first + e - 1], ids[e]
    local found = call('ZSCORE', WAITED, id) and call('XRANGE', key, entry, entry)[1]
    if take(line, entry) then
      changed = changed + 1
      call('HDEL', MOVED, id)
      forget(id)
      notify('succeeded', id, found and record_of(line, found[2]) .. field('outcome', 'succeeded') .. field('ended', int(now)))
    end
  end
  count('done', changed)
  return first + (is_fresh(line) and n or 2 * n), changed
end

-- If add_others is passed, it adds the jobs that follow this one, which may take its unique
-- key, and returns fields to append to its record.
handlers['end'] = function(i, add_others)
  local line, entry, id, outcome, key, scope = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local keep_ms, record = tonumber(ARGV[i + 6]), completed(ARGV[i + 7], 'ended')
  if not take(line, entry) then return i + 8, 0 end
  call('HDEL', MOVED, id)
  if add_others then
    release(key, id, scope)
    record = record .. add_others(id)
  end
  finish(outcome, id, record, key, scope, keep_ms)
  return i + 8, 1
end

-- The arguments of the jobs that follow a success precede its own.
handlers['then'] = function(i)
  local first, n = i + 1, tonumber(ARGV[i])
  local duplicates = {}
  local rest, changed = handlers['end'](first + 6 * n + 1, function(id)
    local add, reasons, counted = job_adder(), {}, 0
    for place = 0, n - 1 do
      local at = first + 6 * place
      local added, key = add(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]), ARGV[at + 4]
      if must_count(added) then counted = counted + 1 end
      local owner = string.match(added, '^=(.*)')
      if owner then
        reasons[#reasons + 1] = 'then[' .. place .. '] was not added: unique key "' .. key .. '" is held by job ' .. global_id(owner)
        for _, value in ipairs({id, place, key, owner}) do duplicates[#duplicates + 1] = value end
        event('duplicate', id)
      end
    end
    write_delayed()
    count('enqueued', counted)
    count('duplicates', #reasons)
    return #reasons > 0 and field('reason', table.concat(reasons, '; ')) or ''
  end)
  return rest, #duplicates > 0 and duplicates or changed
end

function handlers.retry(i)
  local line, entry, id, record = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local wait, failed = tonumber(ARGV[i + 4]), ARGV[i + 5] == '1'
  if not take(line, entry) then return i + 6, 0 end
  call('HDEL', MOVED, id)
  if call('HDEL', CANCELLED, id) == 1 then
    cancel(id, record)
    return i + 6, 1
  end
  if failed then
    count('failed', 1)
    count('retried', 1)
  end
  record = completed(record, (not failed or wait > 0) and 'since', failed and RETRY_MARK)
  if failed and wait <= 0 then
    enter(entry_line(record), id, record)
  else
    delay(id, record, now + wait)
  end
  notify(failed and 'failed' or 'snoozed', id)
  return i + 6, 1
end

function handlers.dead(i)
  local line, entry, id, key, scope, record = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  if not take(line, entry) then return i + 6, 0 end
  call('HDEL', MOVED, id)
  release(key, id, scope)
  count('failed', 1)
  bury(id, completed(record, 'ended'))
  return i + 6, 1
end

function handlers.back(i)
  local line, entry, id = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
  local fields = entry_fields(line, entry)
  if not take(line, entry) or not fields then return i + 3, 0 end
  hand_back(line, id, fields)
  return i + 3, 1
end

function handlers.malformed(i)
  local line, entry, reason = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
  local fields = entry_fields(line, entry)
  if not take(line, entry) or not fields then return i + 3, 0 end
  local id = id_of(line, entry, fields)
  call('HDEL', MOVED, id)
  release(get(fields, 'unique'), id)
  bury(id, malformed(line, fields, reason) .. field('ended', int(now)))
  return i + 3, 1
end

return handlers
