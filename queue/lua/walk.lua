-- Walks through all jobs of a state, in steps.
--
-- A cursor names the job after which to continue. It stays valid when that job has moved:
--   line, entry, last entry of the walk    in lines
--   score, id                              elsewhere
-- @include locate entries order

-- Each function returns at most some jobs of a line after an entry.
local read_line = {}

function read_line.waiting(line, after, last, limit)
  local jobs = {}
  for i, entry in ipairs(call('XRANGE', KEYS[line], '(' .. after, last, 'COUNT', limit)) do
    local id = id_of(line, entry[1], entry[2])
    jobs[i] = {state = 'waiting', id = id, line = line, entry = entry[1], fields = entry[2]}
  end
  return jobs
end

function read_line.active(line, after, last, limit)
  local jobs = {}
  -- One more, since the range includes its start: not every server knows '(' here.
  local held = redis.pcall('XPENDING', KEYS[line], GROUP, after, last, limit + 1)
  for _, pending in ipairs(held.err and {} or held) do
    local entry, worker = pending[1], pending[2]
    if entry ~= after and #jobs < limit then
      local fields = entry_fields(line, entry) or {}
      jobs[#jobs + 1] = {state = 'active', id = id_of(line, entry, fields), line = line, entry = entry, fields = fields, worker = worker, held = pending[3]}
    end
  end
  return jobs
end

-- walk_lines walks through the lines in the order in which workers read them. Jobs that
-- enter a line after its walk has begun are left out, so that the walk ends.
local function walk_lines(state, cursor, step)
  local from, after, last = string.match(cursor, '^(%d+) (%d+%-%d+) (%d+%-%d+)$')
  local start = 1
  for i, line in ipairs(READ_ORDER) do
    if line == tonumber(from) then start = i end
  end
  for i = start, #READ_ORDER do
    local line = READ_ORDER[i]
    if not after then
      local newest = call('XREVRANGE', KEYS[line], '+', '-', 'COUNT', 1)[1]
      after, last = '0-0', newest and newest[1]
    end
    local group = last and group_of(line)
    local delivered = group and state == 'waiting' and group['last-delivered-id']
    if delivered and before(after, delivered) then after = delivered end
    local more = last and (group or state == 'waiting')
    while more do
      local jobs = read_line[state](line, after, last, step.chunk)
      more = #jobs == step.chunk
      for _, job in ipairs(jobs) do
        after = job.entry
        if step.see(job) then return line .. ' ' .. after .. ' ' .. last end
      end
      step.grow()
    end
    after, last = nil, nil
  end
  return ''
end

-- rank_after returns the number of members that sort before a score and an id, and
-- whether that member exists.
local function rank_after(index, score, id)
  local there = call('ZSCORE', index, id)
  if there and tonumber(there) == tonumber(score) then return call('ZRANK', index, id), true end
  local low = call('ZCOUNT', index, '-inf', '(' .. score)
  local high = low + call('ZCOUNT', index, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if call('ZRANGE', index, middle, middle)[1] < id then low = middle + 1 else high = middle end
  end
  return low, false
end

-- members_after returns the ids and scores of at most some jobs that are stored by id, after a
-- score and an id, or from the beginning if these are nil: delayed jobs by their times, others
-- latest first.
local function members_after(shelf, score, id, limit)
  local ids, scores = {}, {}
  local first, last
  local up = shelf.state == 'delayed'
  if up then
    local rank, there = 0, false
    if score then rank, there = rank_after(shelf.index, score, id) end
    first = rank + (there and 1 or 0)
    last = first + limit - 1
  else
    last = (score and rank_after(shelf.index, score, id) or call('ZCARD', shelf.index)) - 1
    first = math.max(0, last - limit + 1)
  end
  local members = last >= 0 and call('ZRANGE', shelf.index, first, last, 'WITHSCORES') or {}
  local n = #members / 2
  for i = 1, n do
    local at = up and i or n + 1 - i
    ids[at], scores[at] = members[2 * i - 1], members[2 * i]
  end
  return ids, scores
end

-- walk_shelf walks through jobs that are stored by id.
local function walk_shelf(shelf, cursor, step)
  local score, id = string.match(cursor, '^(%S+) (.*)$')
  while true do
    local ids, scores = members_after(shelf, score, id, step.chunk)
    if #ids == 0 then return '' end
    local records = call('HMGET', shelf.jobs, unpack(ids))
    for i = 1, #ids do
      id, score = ids[i], scores[i]
      if shelf.state == 'finished' and tonumber(score) <= now then return '' end
      local job = {state = shelf.state, id = id, score = score, record = records[i] and long_record(records[i]) or nil, shelf = shelf}
      if step.see(job) then return score .. ' ' .. id end
    end
    step.grow()
  end
end

-- walk calls visit for jobs of a state after the cursor, until visit returns true or a
-- number of jobs or bytes is reached. It returns the next cursor, or '' at the end.
local function walk(state, cursor, limit, bytes, visit)
  local step = {chunk = 1} -- the first jobs show how large they are
  function step.see(job)
    local size = #(job.record or '')
    for _, value in ipairs(job.fields or {}) do size = size + #value end
    limit, bytes = limit - 1, bytes - size
    return visit(job) or limit <= 0 or bytes <= 0
  end
  function step.grow() step.chunk = math.max(1, math.min(4 * step.chunk, 64, limit)) end
  for _, shelf in ipairs(SHELVES) do
    if shelf.state == state then return walk_shelf(shelf, cursor, step) end
  end
  return walk_lines(state, cursor, step)
end
