-- Adds jobs that need nothing but their entries, all or none. Most jobs are such, and this takes
-- half the time of enqueue.lua, which adds all jobs.
-- KEYS: the fresh lines high, normal, low; meta, counts, events
-- ARGV: groups: 1, 2 or 3 for the line, then kind, n, args of n jobs without options; or '', n,
--       n records
-- Returns 'ok', 1 if the queue keeps events else 0, and an id for each job, in order;
-- {'format', format}.
-- @include int clock format streams
local call = redis.call
local LETTERS = 'hnl' -- of the fresh lines
-- @include entry
-- @lazy make_fold added fold
local stored_format, max_events, day = unpack(call('HMGET', META, 'format', 'events', 'day'))
if stored_format and stored_format ~= FORMAT then return {'format', stored_format} end

-- Entries that were added natively count for the day on which they are folded, or on which
-- the latest of them was added: so the first script of a day folds those of the day before.
local today = math.floor(clock_ms() / 86400000)
if day ~= int(today) or not stored_format then
  local fold = make_fold()
  for line = 1, #LETTERS do fold(KEYS[line], today) end
  call('HSET', META, 'format', FORMAT, 'day', int(today))
end

local ids, n = {'ok', max_events and 1 or 0}, 2
local i, last = 1, #ARGV
while i <= last do
  local line, kind, more = tonumber(ARGV[i]), ARGV[i + 1], tonumber(ARGV[i + 2])
  local key, letter = KEYS[line], string.sub(LETTERS, line, line)
  for a = i + 3, i + 2 + more do
    n = n + 1
    ids[n] = letter .. add_entry(key, kind, ARGV[a])
    if max_events then
      call('XADD', EVENTS, 'MAXLEN', '~', max_events, '*', 'event', 'enqueued', 'id', ids[n])
    end
  end
  i = i + 3 + more
end
if not STREAMS_COUNT then
  call('HINCRBY', COUNTS, int(today) .. ':enqueued', n - 2)
  call('HINCRBY', COUNTS, 'total:enqueued', n - 2)
end
return ids
