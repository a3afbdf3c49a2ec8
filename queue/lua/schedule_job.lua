-- Functions that add jobs for a schedule.
-- @include place unique schedule
-- @lazy job_adder enqueue_job

-- Fields of a schedule's record that its jobs don't have, or have with other values.
local SCHEDULE_ONLY = {expr = true, zone = true, catch_up = true, revision = true, paused = true, headers = true}

-- A firing is a line: due time in ms, time of firing in ms, id of the job or '=' and the
-- id of the job that held the unique key; a token if a person fired it. The latest
-- comes first.
local MOST_FIRINGS = 10

local function firings_of(name)
  local lines = {}
  for line in string.gmatch(call('HGET', SCHEDULES_FIRED, name) or '', '[^\n]+') do
    lines[#lines + 1] = line
  end
  return lines
end

-- fire adds a job for each due time; ARGV[at] and the following are times in ms and
-- headers alternately. If the record is damaged it does nothing and returns false.
local function fire(name, record, at, token)
  local letter, body = string.sub(record, 2, 2), without(record, SCHEDULE_ONLY)
  if not body or not due_line(letter) then return false end
  local key = find(record, 'unique') or ''
  local key_ms = find(record, 'scope') == 'duration' and find(record, 'unique_for') or ''
  local add, lines, added, id = job_adder(), firings_of(name), 0, nil
  write_format()
  for i = at, #ARGV, 2 do
    id = add(letter, body .. field('headers', ARGV[i + 1]), '', '', key, key_ms)
    if must_count(id) then added = added + 1 end
    table.insert(lines, 1, ARGV[i] .. ' ' .. int(now) .. ' ' .. id .. (token and ' ' .. token or ''))
  end
  count('enqueued', added)
  call('HSET', SCHEDULES_FIRED, name, table.concat(lines, '\n', 1, math.min(#lines, MOST_FIRINGS)))
  return id or ''
end
