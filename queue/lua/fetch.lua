-- Delivers jobs to a worker, from the lines in order.
-- ARGV: worker, maximum number of jobs, bytes after which to stop, maximum number of
--       retries while other jobs wait, maximum number of retries (no less), 1 to take a
--       retry first else 0, maximum number of quarantined jobs, 0 if the lease is open, else
--       its length in ms: then the script opens it if it delivers jobs
-- Returns {'ok', now, groups}; {'empty', for each line the id after which new entries
-- come}; {'paused'}; {'lost'} if the worker was declared dead, or has no lease that is open.
-- A worker without a tombstone may have been dead: names must be random.
-- A group is: line, number of entries, kind, entries. If kind is not '', an entry is: id,
-- args; if also the line is negative (-5 for 5): id, id of the job, args. If kind is '', it
-- is: id, number of values that follow, names and values in turn.
--
-- A retry is a job of a retry line. One call keeps to these rules:
--   1. It leaves no job waiting in a line that precedes, in READ_ORDER, the line of a job
--      that it delivers, unless rules 2 to 4 require it.
--   2. If it leaves a job waiting in a line that is no retry line, it delivers at most
--      ARGV[4] retries.
--   3. It delivers at most ARGV[5] retries.
--   4. With ARGV[6] = 1 its first job is a retry of the highest priority at which any job
--      waits, if that has one and ARGV[4] is above 0.
--   5. It delivers at most ARGV[7] quarantined jobs, and none if the worker would then hold
--      jobs of two groups. Jobs that wait in quarantine lines because of this rule do not
--      count for rules 1 and 2; for rule 4 they do.
-- @include queue
local worker, length = ARGV[1], tonumber(ARGV[8])
if length > 0 and call('ZSCORE', TOMBS, worker) then return {'lost'} end
if length == 0 and not call('ZSCORE', LEASES, worker) then return {'lost'} end
-- @include groups order nodes
-- @lazy open_lease amnesty fetch_open
-- @lazy make_release_waiting_key place fetch_release
-- @lazy make_take_quarantined record fetch_quarantined
local jobs_left, bytes_left = tonumber(ARGV[2]), tonumber(ARGV[3])
local early_left, retries_left = tonumber(ARGV[4]), tonumber(ARGV[5])
if paused then return {'paused'} end

local function read(line, limit)
  local got = redis.pcall('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', limit, 'STREAMS', KEYS[line], '>')
  if got and got.err then
    if not string.find(got.err, 'NOGROUP', 1, true) then return error(got.err) end
    call('XGROUP', 'CREATE', KEYS[line], GROUP, '0')
    got = call('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', limit, 'STREAMS', KEYS[line], '>')
  end
  return got and got[1] and got[1][2]
end

local out, n = {'ok', int(now)}, 2
local group, line_of, kind_of -- the open group: place of its count in out, line, kind
local function open(line, kind)
  if line == line_of and kind == kind_of then
    out[group] = out[group] + 1
    return
  end
  line_of, kind_of, group = line, kind, n + 2
  out[n + 1], out[n + 2], out[n + 3] = line, 1, kind
  n = n + 3
end

local release_waiting_key -- built for the first job that may hold a key while waiting

-- waits reports whether a job waits in a line. Entries are compared by their ids only if all may be
-- held, because an entry that is found passes through Lua with its args. Counts do not decide then:
-- another client may have deleted entries that are still pending.
local function waits(line)
  local entries = call('XLEN', KEYS[line])
  if entries == 0 then return false end
  local workers = find_group(KEYS[line], GROUP)
  return not workers or entries > workers.pending or
    #call('XRANGE', KEYS[line], '(' .. workers['last-delivered-id'], '+', 'COUNT', 1) > 0
end

local ONE_BY_ONE = 8 -- as many jobs are read one by one faster than are_small answers

-- take delivers at most max_jobs jobs of a line, and returns their number. It reads one by one
-- unless the line has small jobs: so what it delivers exceeds bytes_left by one job at most.
local function take(line, max_jobs)
  max_jobs = math.min(max_jobs, jobs_left)
  -- From Redis 7.2 on, an XREADGROUP that reads nothing makes a consumer, too. Until this call has
  -- delivered a job the worker has no lease, with whose end it would be deleted.
  local no_lease = length > 0 and n == 2
  if no_lease and not waits(line) then return 0 end
  local taken, limit, small = 0, 1, nil
  while taken < max_jobs and bytes_left > 0 do
    local entries = read(line, limit)
    if not entries or #entries == 0 then break end
    if length > 0 then open_lease() end
    local size = 0
    for e = 1, #entries do
      local entry, fields = entries[e][1], entries[e][2]
      if #fields == 4 and fields[1] == 'kind' and fields[3] == 'args' and fields[2] ~= '' then
        open(line, fields[2])
        out[n + 1], out[n + 2] = entry, fields[4]
        n = n + 2
        size = size + #fields[4]
      elseif #fields == 6 and fields[1] == 'id' and fields[3] == 'kind' and fields[5] == 'args' and fields[4] ~= '' and not is_fresh(line) then
        open(-line, fields[4])
        out[n + 1], out[n + 2], out[n + 3] = entry, fields[2], fields[6]
        n = n + 3
        size = size + #fields[6]
      else
        open(line, '')
        out[n + 1], out[n + 2] = entry, #fields
        n = n + 2
        -- "waiting" occurs in some field; parsing every record would be slow.
        local maybe_waiting_scope = false
        for f = 1, #fields do
          out[n + f] = fields[f]
          maybe_waiting_scope = maybe_waiting_scope or string.find(fields[f], 'waiting', 1, true)
          size = size + #fields[f]
        end
        n = n + #fields
        if maybe_waiting_scope then
          release_waiting_key = release_waiting_key or make_release_waiting_key()
          release_waiting_key(line, entry, fields)
        end
      end
    end
    taken, bytes_left = taken + #entries, bytes_left - size
    if #entries < limit then break end
    if taken >= ONE_BY_ONE and small == nil then small = are_small(line, max_jobs - taken) end
    if small then
      limit = math.max(1, math.min(taken, max_jobs - taken, math.floor(bytes_left * #entries / (size + 1))))
    end
  end
  jobs_left = jobs_left - taken
  return taken
end

-- take_retries is take for a retry line.
local function take_retries(line, max_jobs)
  local taken = take(line, max_jobs)
  early_left, retries_left = early_left - taken, retries_left - taken
end

-- take_first takes a retry of the highest priority at which any job waits.
local function take_first()
  for i = 1, #READ_ORDER, PER_PRIORITY do
    local any = false
    for at = i, i + PER_PRIORITY - 1 do
      local line = READ_ORDER[at]
      if not any or is_retry(line) then
        local found = waits(line)
        if found and is_retry(line) then return take_retries(line, math.min(1, early_left)) end
        any = any or found
      end
    end
    if any then return end
  end
end

local filled, retry_lines = {}, {}
for _, line in ipairs(READ_ORDER) do
  if call('XLEN', KEYS[line]) > 0 then
    filled[line] = true
    if is_retry(line) then retry_lines[#retry_lines + 1] = line end
  end
end
local quarantined_left, take_some = tonumber(ARGV[7]), nil
if ARGV[6] == '1' and #retry_lines > 0 then take_first() end
for _, line in ipairs(READ_ORDER) do
  if jobs_left <= 0 or bytes_left <= 0 then break end
  if filled[line] then
    if is_quarantine(line) then
      take_some = quarantined_left > 0 and (take_some or make_take_quarantined())
      if take_some then quarantined_left = quarantined_left - take_some(line, quarantined_left, take) end
    elseif is_retry(line) then
      take_retries(line, early_left)
    else
      take(line, jobs_left)
    end
  end
end
-- If there is room for more jobs, none waits in another line.
for _, line in ipairs(retry_lines) do take_retries(line, retries_left) end
if n > 2 then return out end

out[1] = 'empty'
for line = 1, LINES do
  local after = '0'
  if filled[line] and is_quarantine(line) then
    after = call('XREVRANGE', KEYS[line], '+', '-', 'COUNT', 1)[1][1] -- jobs may wait that this worker must not take
  elseif filled[line] then
    local workers = find_group(KEYS[line], GROUP)
    after = workers and workers['last-delivered-id'] or '0'
  end
  out[line + 1] = after
end
return out
