-- Functions that add delayed jobs.
-- @include record signal

-- The jobs that write_delayed will add: ids and records in turn, and their times and ids.
local delayed_jobs, delayed_times, first_due, last_id = {}, {}, math.huge, nil

-- next_numbers reserves numbers for the next n delayed jobs and returns the first of them, and
-- whether all of them have the current time. A number is not below the time in µs: Redis may
-- have lost the latest numbers, which must not be issued twice.
local function next_numbers(n)
  local first = math.max((last_id or tonumber(call('HGET', META, 'last_id')) or 0) + 1, now * 1000)
  last_id = first + n - 1
  return first, last_id < (now + 1) * 1000
end

-- id_of_number returns the id of a delayed job.
local function id_of_number(number) return string.format('d%x', number) end

-- delay_later makes write_delayed add a delayed job. due_text is due as text.
local function delay_later(id, record, due, due_text)
  note_size(record)
  local n = #delayed_jobs
  delayed_jobs[n + 1], delayed_jobs[n + 2] = id, record
  delayed_times[n + 1], delayed_times[n + 2] = due_text, id
  if due < first_due then first_due = due end
end

-- write_delayed adds the jobs of delay_later, and wakes the mover if one of them is the first
-- of all delayed jobs.
local function write_delayed()
  if last_id then call('HSET', META, 'last_id', int(last_id)) end
  if #delayed_jobs == 0 then return end
  local head = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
  call('HSET', DELAYED_JOBS, unpack(delayed_jobs))
  call('ZADD', DELAYED, unpack(delayed_times))
  if not head[2] or first_due < tonumber(head[2]) then signal('due') end
  delayed_jobs, delayed_times, first_due, last_id = {}, {}, math.huge, nil
end

-- delay adds a delayed job.
local function delay(id, record, due)
  delay_later(id, record, due, int(due))
  write_delayed()
end

local place_prefixes = {} -- of places by their lines: '5 '

-- enter_due adds a delayed job to the line that it enters when it is due. It returns the line
-- and the entry as in MOVED, or nil if the record is damaged.
local function enter_due(id, record)
  local letter, kind, args = short_parts(record)
  local line = letter and due_line(letter) or entry_line(record)
  if not line then return nil end
  place_prefixes[line] = place_prefixes[line] or line .. ' '
  if letter then return place_prefixes[line] .. call('XADD', KEYS[line], '*', 'id', id, 'kind', kind, 'args', args) end
  return place_prefixes[line] .. call('XADD', KEYS[line], '*', 'id', id, 'job', record)
end
