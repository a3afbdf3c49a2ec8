-- Appends a message under the next id. The first message creates the box.
-- ARGV[1] sender  ARGV[2] body  ARGV[3] type, or ''  ARGV[4] URL, or ''
-- Returns {'ok', id}
--         {'ok', '0'}: not sent, because more must be dropped first: call again
--         {'boxfull', unread, bytes, seen}: seen is the time of the last visit
--         in ms, '' if there was none
-- @include opened_box

local bytes = math.max(#ARGV[2], small)
local function full() return box.unread >= box.messages or size(box) + bytes > box.bytes end
if full() then
  if box.full == 'refuse' then
    return {'boxfull', int(box.unread), int(size(box)), box.seen}
  end
  if drop(box, full) == 1 then return {'ok', '0'} end
end

local id, failure = append(box.last, fields(unpack(ARGV)))
if not id then return failure end
note_last(box, id)
if bytes > small then
  redis.call('ZADD', BIG, int(id), int(id) .. '-' .. bytes)
  redis.call('HSET', HASH, 'held', int(box.held + bytes))
end
extend(box)
return {'ok', int(id)}
