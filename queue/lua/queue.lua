-- The beginning of every script of one queue but enqueue_plain. It reads META and the time, and
-- writes nothing. A script returns {'format', format} here if the queue has another format. Otherwise
-- it continues with stored_format and paused (the ms at which the queue was paused), each false if
-- META has none, max_events (false if the queue keeps no events), renewed and now (the time in ms).
-- KEYS: those of keyNames in keys.go, of which the first ones are the lines, perhaps followed by
--       others
-- ARGV: of the script that includes it
-- @include int clock format lines streams
local call = redis.call
local GROUP = 'workers'

-- Another release may give keys another meaning: then every script changes nothing and
-- returns {'format', format}.
local stored_format, paused, max_events, renewed = unpack(call('HMGET', META, 'format', 'paused', 'events', 'renewed'))
if stored_format and stored_format ~= FORMAT then return {'format', stored_format} end

local now = clock_ms()

-- write_format stores the format of a new queue.
local function write_format()
  if not stored_format then call('HSET', META, 'format', FORMAT) end
end

-- count increments a counter of today (UTC) and of all time.
local function count(name, n)
  if n ~= 0 then
    call('HINCRBY', COUNTS, int(math.floor(now / 86400000)) .. ':' .. name, n)
    call('HINCRBY', COUNTS, 'total:' .. name, n)
  end
end

-- must_count reports whether a script counts the job that it has added under an id, or
-- that enqueue_job.lua has not added ('='): Redis counts those in fresh lines.
local function must_count(id)
  local letter = string.sub(id, 1, 1)
  return letter == 'd' or letter ~= '=' and not STREAMS_COUNT
end

-- event writes an event if the queue keeps events.
local function event(what, id)
  if max_events then
    call('XADD', EVENTS, 'MAXLEN', '~', max_events, '*', 'event', what, 'id', id)
  end
end
