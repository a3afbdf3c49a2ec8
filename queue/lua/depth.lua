-- Counts the jobs of a queue.
-- KEYS: those of a queue
-- ARGV: none
-- Returns {'ok', the ms at which it was paused or 0, delayed, dead, finished, due time of
-- the first delayed job or '', ms that the oldest waiting job has been in its line or -1, time in
-- ms, then the numbers of waiting and of active jobs of each line, and of a paused queue who paused
-- it and the note, or ''}.
-- The cost does not depend on the number of jobs, except for that of finished ones, which takes
-- logarithmic time. It depends on the size of some jobs: XRANGE copies the first waiting job of
-- each line, since Redis has no command that returns only the id of an entry which was not
-- delivered yet.
-- @include queue locate
local next_due = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')[2]
local out = {
  'ok', paused or 0,
  call('ZCARD', DELAYED), call('ZCARD', DEAD), call('ZCOUNT', RESULTS, '(' .. int(now), '+inf'),
  next_due and int(tonumber(next_due)) or '', -1, int(now),
}
for line = 1, LINES do
  local length, active, last = call('XLEN', KEYS[line]), 0, '0-0'
  local group = length > 0 and group_of(line)
  if group then active, last = group.pending, group['last-delivered-id'] end
  local waiting = math.max(0, length - active)
  if waiting > 0 then
    local first = call('XRANGE', KEYS[line], '(' .. last, '+', 'COUNT', 1)[1]
    local ms = first and tonumber(string.match(first[1], '^%d+'))
    if ms then out[7] = math.max(out[7], now - ms) end
  end
  out[#out + 1], out[#out + 2] = waiting, active
end
if paused then
  local by, note = unpack(call('HMGET', META, 'paused_by', 'paused_note'))
  out[#out + 1], out[#out + 2] = by or '', note or ''
end
return out
