-- Renews a pool's entry in the list of pools, and its rows in the list of open leases. Lists
-- rows that are late, because their pools have not renewed them.
-- KEYS: the set of queues, the stream of new ones, the sorted set of queues by their last use,
--       the sorted set of open leases by the time from which they are late, the hash of pools
--       and the sorted set of pools by their expiry
-- ARGV: pool, '' to change rows only
--       ms until the pool's entry expires, 0 to remove it
--       description of the pool, '' if it has not changed
--       ms until a renewed row is late
--       number of the rows that became late last; number of other late rows to skip, maximum
--       number of those that follow
--       number of rows to renew, and the rows
--       number of rows to remove, and the rows
--       rows to remove if they are late since the same time still, each with that time
-- Returns {'ok', 1 if the pool must be described, else 0, ms until the first row is late, which
-- are not positive if one is, '' without rows, for each late row: the row, the time from which it
-- is late, ms since then}; the longest late come last.
-- @include int clock
local MAX_ENDED, KEEP_ENDED, KEEP_LATE = 100, 3600000, 30 * 86400000
local call, now = redis.call, clock_ms()
local pool, expires, about = ARGV[1], tonumber(ARGV[2]), ARGV[3]

-- add is ZADD. A full Redis refuses it, unless the script has written before.
local function add(...)
  local added = redis.pcall('ZADD', ...)
  if type(added) ~= 'table' then return added end
  call('SREM', QUEUES, '')
  return call('ZADD', ...)
end

-- One command for all rows: one for each would take twice as long.
local renew, remove = 8, 9 + tonumber(ARGV[8]) -- places of the numbers of rows
local recovered = remove + 1 + tonumber(ARGV[remove])
local late, rows = int(now + tonumber(ARGV[4])), {}
for i = renew + 1, remove - 1 do
  rows[#rows + 1] = late
  rows[#rows + 1] = ARGV[i]
end
if #rows > 0 then add(LEASES, unpack(rows)) end
if recovered > remove + 1 then call('ZREM', LEASES, unpack(ARGV, remove + 1, recovered - 1)) end
for i = recovered, #ARGV, 2 do
  local since = tonumber(call('ZSCORE', LEASES, ARGV[i]))
  if since and int(since) == ARGV[i + 1] then call('ZREM', LEASES, ARGV[i]) end
end
if pool == '' then return {'ok', 0, ''} end

if expires == 0 then
  call('ZREM', EXPIRY, pool)
  call('HDEL', POOLS, pool)
  return {'ok', 0, ''}
end
local added = add(EXPIRY, int(now + expires), pool)
if about ~= '' then
  call('HSET', POOLS, pool, about)
  -- Pools do this when they start: it need not be done more often.
  for _, name in ipairs(call('ZRANGEBYSCORE', EXPIRY, '-inf', int(now - KEEP_ENDED), 'LIMIT', 0, MAX_ENDED)) do
    call('ZREM', EXPIRY, name)
    call('HDEL', POOLS, name)
  end
  call('ZREMRANGEBYSCORE', LEASES, '-inf', int(now - KEEP_LATE))
end

local first = tonumber(call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')[2])
local out = {'ok', about == '' and added or 0, first and int(first - now) or ''}
if not first or first > now then return out end
-- Rows that no pool recovers stay late for KEEP_LATE: those that became late last come each time.
for _, page in ipairs({{0, ARGV[5]}, {int(ARGV[5] + ARGV[6]), ARGV[7]}}) do
  local found = call('ZRANGE', LEASES, int(now), '-inf', 'BYSCORE', 'REV', 'LIMIT', page[1], page[2], 'WITHSCORES')
  for i = 1, #found, 2 do
    local n, since = #out, tonumber(found[i + 1])
    out[n + 1], out[n + 2], out[n + 3] = found[i], int(since), int(now - since)
  end
end
return out
