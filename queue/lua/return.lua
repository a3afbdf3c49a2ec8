-- Handing back.
-- @include place

-- entry_fields gives what is in an entry, or nil where it is gone.
local function entry_fields(line, entry)
  local found = call('XRANGE', KEYS[line], entry, entry)
  return found[1] and found[1][2]
end

-- hand_back puts a job that was taken out of a line at the end of the returned
-- line of its priority, or ends it where it was cancelled meanwhile.
-- What has more fields than any job of ours goes to the dead: it could not be
-- written in one command.
local MOST_FIELDS = 200
local function hand_back(line, id, fields)
  if #fields > MOST_FIELDS then
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
  local to = FIRST_LINE[priority_of(line)]
  local entry = call('XADD', KEYS[to], '*', unpack(fields))
  call('HSET', MOVED, id, to .. ' ' .. entry)
  tell('returned', id)
end
