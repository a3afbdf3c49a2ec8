-- Adds jobs, all or none.
-- ARGV: groups, one after the other:
--   'plain', line, kind, n, and args of n jobs that need no more than that
--   'job', letter of the priority, record, delay, time, unique key, ms it is held
--       times in ms, '' for none; a time that has passed is now
-- Returns 'ok' and an id for each job, in order; for a duplicate '=' and the id
-- of the job that holds its unique key. Returns {'newer', format}.
local ids, added, n = {'ok'}, 0, 1

local function job(letter, record, wait, at, key, key_ms)
  if key ~= '' then
    local owner = taken(key)
    if owner then return '=' .. owner end
  end
  local due = at ~= '' and tonumber(at) or wait ~= '' and now + tonumber(wait)
  local id
  if due then
    id = 'd' .. format('%015.0f', call('HINCRBY', META, 'last_id', 1))
    record = record .. field('enqueued', int(now))
    if due > now then
      delay(id, record, due)
    else
      enter(due_line(letter), id, record)
    end
  else
    id = letter .. call('XADD', KEYS[due_line(letter) + 1], '*', 'job', record)
  end
  if key ~= '' then hold(key, id, key_ms) end
  added = added + 1
  tell('enqueued', id)
  return id
end

if not settings[1] then call('HSET', META, 'format', '1') end
local i, last = 1, #ARGV
while i <= last do
  if ARGV[i] == 'plain' then
    local line, kind, more = tonumber(ARGV[i + 1]), ARGV[i + 2], tonumber(ARGV[i + 3])
    local key, letter = KEYS[line], priority_of(line)
    for a = i + 4, i + 3 + more do
      local id = letter .. call('XADD', key, '*', 'kind', kind, 'args', ARGV[a])
      n = n + 1
      ids[n] = id
      if settings[3] then tell('enqueued', id) end
    end
    added = added + more
    i = i + 4 + more
  else
    n = n + 1
    ids[n] = job(ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5], ARGV[i + 6])
    i = i + 7
  end
end
count('enqueued', added)
return ids
