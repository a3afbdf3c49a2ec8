-- The changes that people make to jobs. Each function takes a job that locate() has found, and
-- returns 'ok' or the reason why it changed nothing.
-- @include locate unique

-- take_out removes a job that no worker holds from its place.
local function take_out(job)
  if job.line then
    call('XDEL', KEYS[job.line], job.entry)
    call('HDEL', MOVED, job.id)
  elseif job.shelf.bytes_field then
    drop(job.shelf.index, job.shelf.jobs, job.shelf.bytes_field, job.id)
  else
    call('ZREM', job.shelf.index, job.id)
    call('HDEL', job.shelf.jobs, job.id)
  end
end

-- good_record returns a job's record, or nil if it is unusable.
local function good_record(job)
  local record = job.fields and record_of(job.line, job.fields) or job.record or ''
  if string.sub(record, 1, 1) == FORMAT and due_line(string.sub(record, 2, 2)) then return record end
end

local operate = {}

function operate.delete(job)
  if job.state == 'active' then return 'state' end
  take_out(job)
  release(value_of(job, 'unique'), job.id)
  forget(job.id)
  count('deleted', 1)
  notify('deleted', job.id, true)
  return 'ok'
end

function operate.cancel(job)
  if job.state == 'active' then
    call('HSET', CANCELLED, job.id, int(now))
    signal('cancel', 'id', job.id)
    return 'ok'
  end
  if job.state ~= 'waiting' and job.state ~= 'delayed' then return 'state' end
  local record = good_record(job) or malformed(FRESH_NORMAL, {'job', job.record or ''}, 'malformed: its record is damaged')
  take_out(job)
  cancel(job.id, record)
  return 'ok'
end

-- The fields of a dead job that are not for its next attempt, and their values without meaning.
local CLEARED = {'ended', '0', 'outcome', '', 'reason', '', 'result', '', 'suspect', '0', 'crashes', '0', 'group', '', 'group_size', '0'}

-- The fields of a dead job that its retry depends on.
local REVIVED_BY = {kind = true, unique = true, scope = true, attempts = true, deadline = true}

-- revive returns the fields that amend the record of a dead job for its next attempt, in which a
-- deadline that has passed counts no more, or the reason why it can't be retried.
local function revive(job, record)
  local values = values_of(record, REVIVED_BY)
  if not values or (values.kind or '') == '' then return nil, 'malformed' end
  local key = values.unique or ''
  if key ~= '' and values.scope ~= 'duration' then
    local owner = holder_of_key(key)
    if owner and owner ~= job.id then return nil, 'duplicate', key, owner end
    hold(key, job.id, '')
  end
  local amended = {'forgiven', values.attempts or '0'}
  for i = 1, #CLEARED, 2 do
    if values[CLEARED[i]] then set(amended, CLEARED[i], CLEARED[i + 1]) end
  end
  if (tonumber(values.deadline) or math.huge) <= now then set(amended, 'deadline', '0') end
  return amended
end

function operate.retry(job)
  if job.state ~= 'delayed' and job.state ~= 'dead' then return 'state' end
  local record, amended = good_record(job), {}
  if not record then return 'malformed' end
  if job.state == 'dead' then
    local why, key, owner
    amended, why, key, owner = revive(job, record)
    if not amended then return why, key, owner end
    count('revived', 1)
  end
  take_out(job)
  enter(due_line(string.sub(record, 2, 2)), job.id, record, unpack(amended))
  notify('retried', job.id)
  return 'ok'
end

-- priority changes the priority of a job, to that of a letter: 'h', 'n' or 'l'. A quarantined job keeps
-- its own, because it may be what killed its worker.
function operate.priority(job, letter)
  local waits = job.state == 'waiting' and not is_quarantine(job.line)
  if not waits and job.state ~= 'delayed' and job.state ~= 'dead' then return 'state' end
  local record = good_record(job)
  if not record then return 'malformed' end
  if string.sub(record, 2, 2) == letter then return 'same' end
  record = FORMAT .. letter .. string.sub(record, 3)
  if not waits then
    call('HSET', job.shelf.jobs, job.id, record) -- its size does not change
    return 'ok'
  end
  local line = is_retry(job.line) and RETRY_LINE[letter] or due_line(letter)
  take_out(job)
  enter(line, job.id, record)
  return 'ok'
end
