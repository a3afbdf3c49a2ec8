-- Hands back the jobs of dead workers, in steps.
-- ARGV: maximum number of jobs, solo crashes after which a job is dead, 1 to include
--       jobs of workers without a lease, else 0
-- Returns {'ok', number of jobs handed back, number of jobs that are dead now, 1 if
-- there are more, else 0}.
-- @include queue return groups
local left, cap = tonumber(ARGV[1]), tonumber(ARGV[2])

-- First replace expired leases by tombstones: from now on all calls of these workers
-- are refused.
for _, worker in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', '(' .. int(now), 'LIMIT', 0, 20)) do
  call('ZREM', LEASES, worker)
  call('ZADD', TOMBS, int(now), worker)
  count('lost_leases', 1)
end

-- With the full scan: consumers without a lease get a tombstone as well.
if ARGV[3] == '1' then
  for line = 1, LINES do
    if call('EXISTS', KEYS[line]) == 1 then
      local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[line], GROUP)
      for _, consumer in ipairs(consumers.err and {} or consumers) do
        local name = fields_of(consumer).name
        if not call('ZSCORE', LEASES, name) then call('ZADD', TOMBS, 'NX', int(now), name) end
      end
    end
  end
end

local returned, died = 0, 0
local room = 262144 -- about the bytes of payload that one call writes again

local function back(alone, line, entry)
  local fields = entry_fields(line, entry)
  call('XACK', KEYS[line], GROUP, entry)
  if not fields then return end
  call('XDEL', KEYS[line], entry)
  for f = 2, #fields, 2 do room = room - #fields[f] end
  local id = id_of(line, entry, fields)
  if alone == line .. ' ' .. entry then
    local crashes = (tonumber(get(fields, 'crashes')) or 0) + 1
    count('crashed', 1)
    if crashes >= cap then
      call('HDEL', MOVED, id)
      release(get(fields, 'unique'), id, get(fields, 'scope'))
      set(fields, 'crashes', int(crashes))
      set(fields, 'ended', int(now))
      set(fields, 'reason', 'its worker died ' .. int(crashes) .. ' times while it ran alone')
      bury(id, record_of(line, fields))
      died = died + 1
      return
    end
    set(fields, 'crashes', int(crashes))
  end
  if not alone or alone == line .. ' ' .. entry then
    set(fields, 'suspect', int((tonumber(get(fields, 'suspect')) or 0) + 1))
    if not alone then count('crashed', 1) end
  end
  hand_back(line, id, fields)
  returned = returned + 1
end

local more = false
for _, worker in ipairs(call('ZRANGE', TOMBS, 0, 9)) do
  local alone = call('HGET', ALONE, worker)
  for line = 1, LINES do
    if left > 0 and call('EXISTS', KEYS[line]) == 1 then
      local held = redis.pcall('XPENDING', KEYS[line], GROUP, '-', '+', left, worker)
      for _, pending in ipairs(held.err and {} or held) do
        if room <= 0 then left = 0 end
        if left <= 0 then break end
        back(alone, line, pending[1])
        left = left - 1
      end
    end
  end
  if left <= 0 then
    more = true
    break
  end
  -- Nothing is pending: the worker can be forgotten.
  for line = 1, LINES do
    if call('EXISTS', KEYS[line]) == 1 then redis.pcall('XGROUP', 'DELCONSUMER', KEYS[line], GROUP, worker) end
  end
  call('ZREM', TOMBS, worker)
  call('HDEL', WORKERS, worker)
  call('HDEL', ALONE, worker)
end
if call('EXISTS', TOMBS) == 1 then more = true end
return {'ok', returned, died, more and 1 or 0}
