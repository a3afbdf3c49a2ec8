-- Hands back the jobs of dead workers. One call is one bounded step; call again while the
-- last value is 1.
-- ARGV: maximum number of jobs, solo crashes after which a job is dead, 1 for a full scan,
--       which also recovers workers without a lease, else 0
-- Returns {'ok', number of jobs handed back (or ended because they were cancelled or
-- malformed), number of jobs that this call made dead for too many crashes, 1 if there are
-- more, else 0}.
-- @include queue when_full return groups amnesty
local MAX_LEASES, MAX_WORKERS = 20, 10
local jobs_left, max_crashes = tonumber(ARGV[1]), tonumber(ARGV[2])
local bytes_left = 262144 -- about the bytes of payload that one call writes again

-- bury_worker adds a tombstone: from now on all calls of the worker are refused.
local function bury_worker(worker)
  call('ZADD', TOMBS, 'NX', int(now), worker)
  call('ZREM', LENGTHS, worker)
end

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

-- recover_job takes a job from a dead worker with the given solo mark. A worker without a
-- solo mark may have crashed because of any job it held: each is quarantined. With a mark,
-- only the marked job is blamed; 'none' marks no job (closed cleanly). The mark is stored
-- as alone, the numbers of quarantines and of solo crashes as suspect and crashes.
local function recover_job(solo, line, entry)
  local fields = entry_fields(line, entry)
  call('XACK', KEYS[line], GROUP, entry)
  -- The entry was deleted by another client: nothing to hand back.
  if not fields then return end
  call('XDEL', KEYS[line], entry)
  for f = 2, #fields, 2 do bytes_left = bytes_left - #fields[f] end
  local id = id_of(line, entry, fields)
  local solo_here = solo == line .. ' ' .. entry
  local quarantined = solo_here or not solo
  if quarantined then count('crashed', 1) end
  if solo_here then
    local crashes = (tonumber(get(fields, 'crashes')) or 0) + 1
    set(fields, 'crashes', int(crashes))
    if crashes >= max_crashes then
      call('HDEL', MOVED, id)
      release(get(fields, 'unique'), id, get(fields, 'scope'))
      set(fields, 'ended', int(now))
      set(fields, 'reason', 'its worker died ' .. int(crashes) .. ' times while it ran alone')
      bury(id, record_of(line, fields))
      died = died + 1
      return
    end
  end
  if quarantined then set(fields, 'suspect', int((tonumber(get(fields, 'suspect')) or 0) + 1)) end
  hand_back(line, id, fields)
  returned = returned + 1
end

-- recover_worker takes the jobs from a dead worker, and reports whether it holds no more.
local function recover_worker(worker)
  local solo = call('HGET', ALONE, worker)
  for line = 1, LINES do
    if jobs_left > 0 and call('EXISTS', KEYS[line]) == 1 then
      local held = redis.pcall('XPENDING', KEYS[line], GROUP, '-', '+', jobs_left, worker)
      for _, pending in ipairs(held.err and {} or held) do
        if bytes_left <= 0 then return false end
        recover_job(solo, line, pending[1])
        jobs_left = jobs_left - 1
      end
    end
  end
  return jobs_left > 0
end

for _, worker in ipairs(call('ZRANGE', TOMBS, 0, MAX_WORKERS - 1)) do
  if not recover_worker(worker) then break end
  -- Nothing is pending: the worker can be forgotten.
  for line = 1, LINES do
    if call('EXISTS', KEYS[line]) == 1 then redis.pcall('XGROUP', 'DELCONSUMER', KEYS[line], GROUP, worker) end
  end
  call('ZREM', TOMBS, worker)
  call('HDEL', WORKERS, worker)
  call('HDEL', ALONE, worker)
end
return {'ok', returned, died, call('EXISTS', TOMBS)}
