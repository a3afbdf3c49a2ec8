-- Adds jobs without options, all or none. Most jobs have none, and this takes half
-- the time of enqueue.lua, which adds all jobs.
-- KEYS: the fresh lines high, normal, low; meta, counts, events
-- ARGV: groups: 1, 2 or 3 for the line, kind, n, args of n jobs
-- Returns 'ok' and an id for each job, in order; {'format', format}.
-- @include int format
local call = redis.call
local stored_format, max_events = unpack(call('HMGET', META, 'format', 'events'))
if not stored_format then
  call('HSET', META, 'format', FORMAT)
elseif stored_format ~= FORMAT then
  return {'format', stored_format}
end

local ids, n, entry = {'ok'}, 1, nil
local i, last = 1, #ARGV
while i <= last do
  local line, kind, more = tonumber(ARGV[i]), ARGV[i + 1], tonumber(ARGV[i + 2])
  local key, letter = KEYS[line], string.sub('hnl', line, line)
  for a = i + 3, i + 2 + more do
    entry = call('XADD', key, '*', 'kind', kind, 'args', ARGV[a])
    n = n + 1
    ids[n] = letter .. entry
    if max_events then
      call('XADD', EVENTS, 'MAXLEN', '~', max_events, '*', 'event', 'enqueued', 'id', ids[n])
    end
  end
  i = i + 3 + more
end

-- The entry's id contains the time.
local day = math.floor(tonumber(string.match(entry, '^%d+')) / 86400000)
call('HINCRBY', COUNTS, int(day) .. ':enqueued', n - 1)
call('HINCRBY', COUNTS, 'total:enqueued', n - 1)
return ids
