-- Returns a page of the log, and the state of the room.
-- ARGV[3] 'after' or 'before'  ARGV[4] position; before 0: the newest
-- ARGV[5] max entries
-- Returns {'ok', state, more, entries, beyond}: state is as state_of returns it;
--         more is 1 if entries follow in this direction; entries start at the
--         position, newest first for before, and end soon after 64 KiB; beyond
--         is the id of an entry added by hand whose number is too large for a
--         position, or ''
--         {'ahead', last}: no entry has this position yet
--         {'notinroom'}
-- @include opened_room when_full

if not present(room, ARGV[1]) then return {'notinroom'} end
local forward, from = ARGV[3] == 'after', tonumber(ARGV[4])
if from > room.last then adopt(room) end
if from > room.last then return {'ahead', int(room.last)} end

local top = int(exact) .. '-18446744073709551615'
local beyond = redis.call('XREVRANGE', LOG, '+', '(' .. top, 'COUNT', 1)[1]
local edge = top
if forward then
  edge = '(' .. int(from) .. '-18446744073709551615'
elseif from > 0 then
  edge = '(' .. int(from) .. '-0'
end
local function range(count)
  if forward then return redis.call('XRANGE', LOG, edge, top, 'COUNT', count) end
  return redis.call('XREVRANGE', LOG, edge, '-', 'COUNT', count)
end
-- Redis copies every entry that a script reads. Where big ones are possible the
-- script reads only four at a time: 256 KiB, less than a millisecond.
local batch = (forward and from or room.trimmed) < room.big and 4 or 64
local found, bytes, max_entries, more = {}, 0, math.min(200, tonumber(ARGV[5])), 0
repeat
  local want = math.min(batch, max_entries - #found)
  local page = range(want)
  for _, entry in ipairs(page) do
    found[#found + 1] = entry
    edge = '(' .. entry[1]
    for _, value in ipairs(entry[2]) do bytes = bytes + #value end
  end
  local full = #found >= max_entries or bytes >= 65536
  if full and #page == want then more = #range(1) end
until full or #page < want
renew_presence(room)
return {'ok', state_of(room), more, found, beyond and beyond[1] or ''}
