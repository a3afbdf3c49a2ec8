-- Writes a sample of a queue, or only claims the right to. One pool samples a queue.
-- KEYS: those of keys.go
-- ARGV: times of the buckets, see begin.lua
--       pool
--       ms for which a sample of another pool keeps this one away
--       nothing more to claim, else the numbers of waiting, active, delayed and dead jobs,
--       the age of the oldest waiting job in ms, how many jobs were ever added,
--       the time of these values in ms since 1970, how many jobs were ever taken, and how many slots
--       were free for jobs that waited
-- Returns {'ok', time in ms since 1970}; {'taken', time} if another pool samples the queue;
-- {'clock', time} if the buckets are not yet to be; {'format', format of the statistics}.
-- @include begin
local pool, hold = ARGV[7], tonumber(ARGV[8])
local sampler, sampled, enqueued = unpack(call('HMGET', STATS, 'sampler', 'sampled', 'enqueued'))
local age = now - (tonumber(sampled) or 0)
if sampler and sampler ~= pool and age >= 0 and age < hold then return {'taken', int(now)} end
call('HSET', STATS, 'format', FORMAT, 'sampler', pool, 'sampled', int(now))
keep(STATS)
if #ARGV < 9 then return {'ok', int(now)} end

local waiting, active, delayed, dead, oldest, total = unpack(ARGV, 9, 14)
local at, taken, free = unpack(ARGV, 15, 17)
local added = enqueued and math.max(0, tonumber(total) - (tonumber(enqueued) or 0)) or 0
call('HSET', STATS, 'enqueued', total)
each_bucket(function(key)
  local before = call('HMGET', key, ' waiting', ' active', ' oldest')
  local function highest(i, value) return before[i] and math.max(tonumber(before[i]), tonumber(value)) or value end
  call('HSET', key, ' waiting', highest(1, waiting), ' active', highest(2, active), ' oldest', highest(3, oldest),
    ' delayed', delayed, ' dead', dead)
  if added > 0 then call('HINCRBY', key, ' added', int(added)) end
  if key == MINUTE then call('HSET', key, ' at', at, ' taken', taken, ' free', free) end
end)
return {'ok', int(now)}
