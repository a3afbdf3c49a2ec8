-- Deletes expired data, in steps, and counts the jobs that were added natively.
-- ARGV: cursor of the counters: '0' at first, '' when they are done
--       maximum number of items of each sort
-- Returns {'ok', next cursor, 1 if there are more items of other sorts, else 0}.
-- @include queue place when_full
-- @lazy make_fold added fold
local limit, more = tonumber(ARGV[2]), 0

local function expired(index, before, dispose)
  local ids = call('ZRANGEBYSCORE', index, '-inf', int(before), 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do dispose(id) end
  if #ids == limit then more = 1 end
end

-- thinned drops jobs of an archive as trim does, and returns their number.
local function thinned(index, jobs, bytes_field, oldest, max_jobs, max_bytes)
  local dropped = trim(index, jobs, bytes_field, oldest, max_jobs, max_bytes, limit)
  if dropped == limit then more = 1 end
  return dropped
end

local max_results, max_result_bytes = limits('results')
thinned(RESULTS, RESULTS_JOBS, 'result_bytes', now + 1, max_results, max_result_bytes)
local max_dead, max_dead_bytes, dead_age = limits('dead', DEAD_MS)
count('dead_dropped', thinned(DEAD, DEAD_JOBS, 'dead_bytes', now - dead_age + 1, max_dead, max_dead_bytes))
expired(WAITED, now, function(id) call('ZREM', WAITED, id) end)
expired(UNIQUE_EXPIRY, now, function(key)
  call('HDEL', UNIQUE, key)
  call('ZREM', UNIQUE_EXPIRY, key)
end)

local fold = make_fold()
for line = 1, LINES do
  if is_fresh(line) then fold(KEYS[line], math.floor(now / 86400000)) end
end

local cursor = ARGV[1]
if cursor ~= '' then
  local oldest = math.floor(now / 86400000) - 90
  local found = call('HSCAN', COUNTS, cursor, 'COUNT', limit)
  for i = 1, #found[2], 2 do
    local day = string.match(found[2][i], '^(%d+):')
    if day and tonumber(day) < oldest then call('HDEL', COUNTS, found[2][i]) end
  end
  cursor = found[1] ~= '0' and found[1] or ''
end
return {'ok', cursor, more}
