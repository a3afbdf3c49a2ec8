-- Functions that find jobs. They return a table with the job's state, id, and
--   in a line: line, entry, fields; if it is active, worker and for how many ms it
--     has been held
--   elsewhere: score and record, one of which may be missing
-- @include return groups

-- The states whose jobs are stored by id, in the order in which they are searched.
local SHELVES = {
  {state = 'delayed', index = DELAYED, jobs = DELAYED_JOBS},
  {state = 'dead', index = DEAD, jobs = DEAD_JOBS, bytes_field = 'dead_bytes'},
  {state = 'finished', index = RESULTS, jobs = RESULTS_JOBS, bytes_field = 'result_bytes'},
}

-- group_of returns the consumer group of a line, or nil if no job was ever fetched
-- from it.
local function group_of(line)
  if call('EXISTS', KEYS[line]) == 1 then return find_group(KEYS[line], GROUP) end
end

-- parse_place returns the line and the entry that a text such as "6 1-1" names, or nil.
local function parse_place(text)
  local line, entry = string.match(text, '^(%d+) (%d+%-%d+)$')
  line = tonumber(line)
  if line and line >= 1 and line <= LINES then return line, entry end
end

-- place_of returns the line and the entry of a job, if it is in a line.
local function place_of(id)
  local moved = call('HGET', MOVED, id)
  if moved then return parse_place(moved) end
  local due = due_line(string.sub(id, 1, 1))
  if due then return due + 1, string.sub(id, 2) end
end

-- holder_of returns the worker that holds an entry, and for how many ms.
local function holder_of(line, entry)
  local held = redis.pcall('XPENDING', KEYS[line], GROUP, entry, entry, 1)
  if not held.err and held[1] then return held[1][2], held[1][3] end
end

-- shelved returns the job with a score and a record on a shelf, of which one may be missing, or nil.
local function shelved(shelf, id, score, record)
  local over = shelf.state == 'finished' and (not score or tonumber(score) <= now)
  if (score or record) and not over then
    return {state = shelf.state, id = id, score = score, record = record and long_record(record) or nil, size = record and #record or 0, shelf = shelf}
  end
end

-- on_shelf returns the job with an id that is stored on a shelf, or nil.
local function on_shelf(shelf, id)
  return shelved(shelf, id, call('ZSCORE', shelf.index, id), call('HGET', shelf.jobs, id))
end

-- locate returns the job with an id, or nil.
local function locate(id)
  local line, entry = place_of(id)
  local fields = line and entry_fields(line, entry)
  if fields and id_of(line, entry, fields) == id then
    local worker, held = holder_of(line, entry)
    return {state = worker and 'active' or 'waiting', id = id, line = line, entry = entry, fields = fields, worker = worker, held = held}
  end
  for _, shelf in ipairs(SHELVES) do
    local job = on_shelf(shelf, id)
    if job then return job end
  end
end

-- locate_in returns the job with an id if it is in a state, or nil.
local function locate_in(state, id)
  for _, shelf in ipairs(SHELVES) do
    if shelf.state == state then return on_shelf(shelf, id) end
  end
  local job = locate(id)
  return job and job.state == state and job or nil
end

-- value_of returns the value of a field of a job, or nil.
local function value_of(job, name)
  if job.fields then return get(job.fields, name) end
  return job.record and find(job.record, name)
end

-- added_at returns the time in ms at which a job was added according to its id.
local function added_at(id)
  local number = string.match(id, '^d(%x+)$')
  return number and tonumber(number, 16) / 1000 or tonumber(string.match(id, '^%a(%d+)%-'))
end

-- entered_at returns the time in ms at which a job came into its state.
local function entered_at(job)
  local at
  if job.worker then
    at = now - job.held
  elseif job.line then
    at = string.match(job.entry, '^%d+')
  elseif job.state == 'delayed' then
    at = value_of(job, 'since') or value_of(job, 'enqueued') or added_at(job.id)
  elseif job.state == 'finished' then
    at = value_of(job, 'ended')
  else
    at = job.score
  end
  return tonumber(at) or 0
end

-- append_job appends a job to a reply: id, state, score or time of its fetch or '', worker
-- or '', line or 0, entry or '', number of fields, fields.
local function append_job(out, job)
  local fields = job.fields or job.record and {'job', job.record} or {}
  local n = #out
  local since = job.held and int(now - job.held)
  out[n + 1], out[n + 2], out[n + 3], out[n + 4] = job.id, job.state, job.score or since or '', job.worker or ''
  out[n + 5], out[n + 6], out[n + 7] = job.line or 0, job.entry or '', #fields
  for i = 1, #fields do out[n + 7 + i] = fields[i] end
end
