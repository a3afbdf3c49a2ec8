-- Functions that hand jobs back.
-- @include place

-- entry_fields returns the fields of an entry, or nil if it doesn't exist.
local function entry_fields(line, entry)
  local found = call('XRANGE', KEYS[line], entry, entry)
  return found[1] and found[1][2]
end

-- hand_back adds a job that was removed from a line to the end of another one, or finishes
-- it if it was cancelled meanwhile. The other line is to, or by default the returned line of
-- its priority, but a retry and a quarantined job stay in their lines. An entry with more
-- than MAX_VALUES becomes a dead job.
local MAX_VALUES = 200 -- names and values; XADD with all of them must stay within the limit of unpack
local function hand_back(line, id, fields, to)
  if #fields > MAX_VALUES then
    call('HDEL', MOVED, id)
    bury(id, malformed(line, fields, 'malformed: its entry has too many fields') .. field('ended', int(now)))
    return
  end
  if call('HDEL', CANCELLED, id) == 1 then
    call('HDEL', MOVED, id)
    cancel(id, record_of(line, fields))
    return
  end
  set(fields, 'id', id)
  if not to then
    to = (is_retry(line) or is_quarantine(line)) and line or due_line(letter_of(line)) - 1
  end
  local entry = call('XADD', KEYS[to], '*', unpack(fields))
  call('HSET', MOVED, id, to .. ' ' .. entry)
  notify('returned', id)
end
