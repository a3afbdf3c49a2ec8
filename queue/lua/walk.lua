-- Going through all jobs of a state, in steps.
--
-- A cursor says after which job to go on. It stays good when that job has gone
-- meanwhile:
--   line, entry, last entry that is looked at    in lines
--   score, id                                    elsewhere
-- @include locate entries

-- How to read a line after an entry, at most some jobs.
local read_line = {}

function read_line.waiting(line, after, last, most)
  local jobs = {}
  for i, entry in ipairs(call('XRANGE', KEYS[line], '(' .. after, last, 'COUNT', most)) do
    local id = id_of(line, entry[1], entry[2])
    jobs[i] = {state = 'waiting', id = id, line = line, entry = entry[1], fields = entry[2]}
  end
  return jobs
end

function read_line.active(line, after, last, most)
  local jobs = {}
  -- One more, since it starts at the entry itself: not every server knows '('
  -- here.
  local held = redis.pcall('XPENDING', KEYS[line], GROUP, after, last, most + 1)
  for _, pending in ipairs(held.err and {} or held) do
    local entry, worker = pending[1], pending[2]
    if entry ~= after and #jobs < most then
      local fields = entry_fields(line, entry) or {}
      jobs[#jobs + 1] = {state = 'active', id = id_of(line, entry, fields), line = line, entry = entry, fields = fields, worker = worker, held = pending[3]}
    end
  end
  return jobs
end

-- walk_lines goes through the lines in the order in which they are read. What
-- comes into a line after it was begun is left out, so that there is an end.
local function walk_lines(state, cursor, step)
  local first, after, last = string.match(cursor, '^([1-9]) (%d+%-%d+) (%d+%-%d+)$')
  for line = tonumber(first or 1), LINES do
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

-- rank_after gives the number of members that sort before a score and an id,
-- and whether that very member is there.
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

-- walk_shelf goes through what is kept by id: delayed jobs by time, others the
-- latest first.
local function walk_shelf(shelf, cursor, step)
  local score, id = string.match(cursor, '^(%S+) (%S+)$')
  local up = shelf.state == 'delayed'
  while true do
    local first, last
    if up then
      local rank, there = 0, false
      if score then rank, there = rank_after(shelf.index, score, id) end
      first = rank + (there and 1 or 0)
      last = first + step.chunk - 1
    else
      last = (score and rank_after(shelf.index, score, id) or call('ZCARD', shelf.index)) - 1
      first = math.max(0, last - step.chunk + 1)
    end
    local members = last >= 0 and call('ZRANGE', shelf.index, first, last, 'WITHSCORES') or {}
    if #members == 0 then return '' end
    local ids = {}
    for i = 1, #members, 2 do ids[#ids + 1] = members[i] end
    local records = call('HMGET', shelf.jobs, unpack(ids))
    for n = 1, #ids do
      local i = up and n or #ids + 1 - n
      id, score = ids[i], members[2 * i]
      if shelf.state == 'finished' and tonumber(score) <= now then return '' end
      local job = {state = shelf.state, id = id, score = score, record = records[i] or nil, shelf = shelf}
      if step.see(job) then return score .. ' ' .. id end
    end
    step.grow()
  end
end

-- walk calls visit for jobs of a state after the cursor, until it returns true
-- or has seen some number of jobs or bytes. It gives the cursor to go on with,
-- or '' at the end.
local function walk(state, cursor, most, bytes, visit)
  local step = {chunk = math.min(4, most)}
  function step.see(job)
    local size = #(job.record or '')
    for _, value in ipairs(job.fields or {}) do size = size + #value end
    most, bytes = most - 1, bytes - size
    return visit(job) or most <= 0 or bytes <= 0
  end
  function step.grow() step.chunk = math.max(1, math.min(4 * step.chunk, 64, most)) end
  for _, shelf in ipairs(SHELVES) do
    if shelf.state == state then return walk_shelf(shelf, cursor, step) end
  end
  return walk_lines(state, cursor, step)
end

-- age_of gives for how many milliseconds a job has been there: since it came
-- in, or for the dead and finished, since it ended.
local function age_of(job)
  local since
  if job.state == 'dead' or job.state == 'finished' then
    since = value_of(job, 'ended') or job.score
  else
    since = value_of(job, 'enqueued') or string.match(job.id, '^%a(%d+)%-')
  end
  return now - (tonumber(since) or 0)
end

-- holds reports whether a value of a job holds a text, be its letters large or
-- small.
local function holds(job, name, text)
  return string.find(string.lower(value_of(job, name) or ''), text, 1, true) ~= nil
end

-- filter_of reads a filter from ARGV[i] on: kind or '', least and most age in ms
-- or 0, small text of an error or '', the same as it is in JSON. What it returns
-- reports whether a job passes.
local function filter_of(i)
  local kind, oldest, youngest, text, quoted = ARGV[i], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 1]), ARGV[i + 3], ARGV[i + 4]
  return function(job)
    if kind ~= '' and value_of(job, 'kind') ~= kind then return false end
    if youngest > 0 and age_of(job) < youngest then return false end
    if oldest > 0 and age_of(job) >= oldest then return false end
    return text == '' or holds(job, 'reason', text) or holds(job, 'errors', quoted)
  end
end
