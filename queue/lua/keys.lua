-- Put before every script of a queue.
-- KEYS: all keys of one queue, in the order of keys.go. 1 to 9 are the lines.
local call, format = redis.call, string.format
local LINES, GROUP = 9, 'workers'
local META = KEYS[10]
local LEASES, TOMBS, WORKERS, ALONE = KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local DELAYED, DELAYED_JOBS = KEYS[15], KEYS[16]
local DEAD, DEAD_JOBS = KEYS[17], KEYS[18]
local RESULTS, RESULTS_JOBS = KEYS[19], KEYS[20]
local MOVED = KEYS[21]
local UNIQUE, UNIQUE_EXPIRY = KEYS[22], KEYS[23]
local COUNTS = KEYS[24]
local CONTROL, EVENTS = KEYS[25], KEYS[26]
local WAITED, DONE = KEYS[27], KEYS[28]
local CANCELLED, LOGS, PROGRESS = KEYS[29], KEYS[30], KEYS[31]

-- A newer release may have changed what a key means: then nothing is touched.
local settings = call('HMGET', META, 'format', 'paused', 'events')
if settings[1] and settings[1] ~= '1' then
  return {'newer', settings[1]}
end

local clock = call('TIME')
local seconds = tonumber(clock[1])
local now = seconds * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- Numbers are doubles, and tostring keeps 14 digits only.
local function int(n) return format('%.0f', n) end

-- count adds to a counter, of today (UTC) and of all time.
local function count(name, n)
  if n ~= 0 then
    call('HINCRBY', COUNTS, int(math.floor(seconds / 86400)) .. ':' .. name, n)
    call('HINCRBY', COUNTS, 'total:' .. name, n)
  end
end

-- priority_of gives the letter of a line's priority.
local function priority_of(line)
  return string.sub('hhhnnnlll', line, line)
end

-- event writes an event, where a queue has events.
local function event(what, id)
  if settings[3] then
    call('XADD', EVENTS, 'MAXLEN', '~', settings[3], '*', 'event', what, 'id', id)
  end
end
