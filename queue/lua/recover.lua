-- Hands back the jobs of dead workers, and quarantines them unless the worker had closed its
-- lease. One call is one bounded step; call again while the last value is 1.
-- ARGV: maximum number of jobs, crashes after which a job is dead, 1 for a full scan, which
--       also recovers workers without a lease, else 0; names of workers
-- Returns {'ok', number of jobs handed back (or ended because they were cancelled or
-- malformed), number of jobs that this call made dead for too many crashes, 1 if there are
-- more, else 0, 1 if an amnesty may spare leases, else 0, for each of the named workers 1 if it
-- has a lease or is being recovered, else 0}.
-- @include queue when_full return groups amnesty cohort
local MAX_LEASES, MAX_WORKERS = 20, 10
local jobs_left, max_crashes = tonumber(ARGV[1]), tonumber(ARGV[2])
local bytes_left = 262144 -- about the bytes of payload that one call writes again

-- bury_worker adds a tombstone: from now on all calls of the worker are refused. This fixes
-- the number of jobs in each half.
local function bury_worker(worker)
  if call('ZADD', TOMBS, 'NX', int(now), worker) == 0 then return end
  call('ZREM', LENGTHS, worker)
  write_cohort(worker, count_cohort(worker))
end

-- The caller serves the queue: as long as it can reach Redis, leases that are not renewed
-- belong to dead workers.
if call('EXISTS', LEASES) == 1 then note_renewal(0) end

-- First replace expired leases by tombstones.
for _, worker in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', latest_buried(), 'LIMIT', 0, MAX_LEASES)) do
  call('ZREM', LEASES, worker)
  bury_worker(worker)
  count('lost_leases', 1)
end

-- In a full scan, consumers without a lease get a tombstone as well.
if ARGV[3] == '1' then
  for line = 1, LINES do
    if call('EXISTS', KEYS[line]) == 1 then
      local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[line], GROUP)
      for _, consumer in ipairs(consumers.err and {} or consumers) do
        local name = fields_of(consumer).name
        if not call('ZSCORE', LEASES, name) then bury_worker(name) end
      end
    end
  end
end

local returned, died = 0, 0

-- crashed counts the death of a worker that held a job of a group of one, unless its process
-- shared it with other groups, and reports whether the job is dead now. The last death counts only
-- if the job ran alone.
local function crashed(id, line, fields, mark, place)
  local crashes = (tonumber(get(fields, 'crashes')) or 0) + 1
  if mark == 'shared' or crashes >= max_crashes and mark ~= place then return false end
  set(fields, 'crashes', int(crashes))
  if crashes < max_crashes then return false end
  call('HDEL', MOVED, id)
  release(get(fields, 'unique'), id, get(fields, 'scope'))
  set(fields, 'ended', int(now))
  set(fields, 'reason', 'its worker died ' .. int(crashes) .. ' times with this job, the last time while it ran alone')
  bury(id, record_of(line, fields))
  died = died + 1
  return true
end

-- recover_job takes a job from a dead worker.
local function recover_job(worker, cohort, line, entry)
  local fields = entry_fields(line, entry)
  call('XACK', KEYS[line], GROUP, entry)
  local group, size = next_group(worker, cohort, line)
  -- The entry was deleted by another client: nothing to hand back.
  if not fields then return end
  call('XDEL', KEYS[line], entry)
  for f = 2, #fields, 2 do bytes_left = bytes_left - #fields[f] end
  local id = id_of(line, entry, fields)
  if cohort.closed then
    hand_back(line, id, fields)
  else
    count('crashed', 1)
    local single = is_quarantine(line) and get(fields, 'group_size') == '1'
    if single and crashed(id, line, fields, call('HGET', ALONE, worker), line .. ' ' .. entry) then return end
    local before = (size > 1 or single) and tonumber(get(fields, 'suspect')) or 0
    set(fields, 'suspect', int(before + 1))
    set(fields, 'group', group)
    set(fields, 'group_size', int(size))
    hand_back(line, id, fields, QUARANTINE_LINE[letter_of(line)])
  end
  returned = returned + 1
end

-- recover_worker takes the jobs from a dead worker, and reports whether it holds no more.
local function recover_worker(worker, cohort)
  for line = 1, LINES do
    if jobs_left > 0 and call('EXISTS', KEYS[line]) == 1 then
      local held = redis.pcall('XPENDING', KEYS[line], GROUP, '-', '+', jobs_left, worker)
      for _, pending in ipairs(held.err and {} or held) do
        if bytes_left <= 0 then return false end
        recover_job(worker, cohort, line, pending[1])
        jobs_left = jobs_left - 1
      end
    end
  end
  return jobs_left > 0
end

for _, worker in ipairs(call('ZRANGE', TOMBS, 0, MAX_WORKERS - 1)) do
  local cohort = read_cohort(worker)
  if not recover_worker(worker, cohort) then
    write_cohort(worker, cohort)
    break
  end
  -- Nothing is pending: the worker can be forgotten.
  for line = 1, LINES do
    if call('EXISTS', KEYS[line]) == 1 then redis.pcall('XGROUP', 'DELCONSUMER', KEYS[line], GROUP, worker) end
  end
  call('ZREM', TOMBS, worker)
  call('HDEL', COHORTS, worker)
  call('HDEL', ALONE, worker)
end

local spares = call('EXISTS', LEASES) == 1 and read_amnesty()
local out = {'ok', returned, died, call('EXISTS', TOMBS), spares and 1 or 0}
for i = 4, #ARGV do
  out[i + 2] = (call('ZSCORE', LEASES, ARGV[i]) or call('ZSCORE', TOMBS, ARGV[i])) and 1 or 0
end
return out
