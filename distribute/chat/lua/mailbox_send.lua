-- Appends a message under the next id. The first one makes the box.
-- KEYS: see mailbox.lua
-- ARGV[1] sender  ARGV[2] body  ARGV[3] type, or ''  ARGV[4] URL, or ''
-- Returns {'ok', id}
--         {'ok', '0'}: not sent, more has to be dropped first: call again
--         {'boxfull', unread, bytes, seen}: seen is the time of the last visit
--         in ms, '' if there was none
--         or a refusal of mailbox.lua

local box, refusal = open()
if not box then return refusal end
local bytes = math.max(#ARGV[2], small)
local function full() return box.unread >= box.messages or size(box) + bytes > box.bytes end
if full() then
  if box.full == 'refuse' then
    return {'boxfull', text(box.unread), text(size(box)), box.seen}
  end
  if drop(box, full) == 1 then return {'ok', '0'} end
end

local id, failure = append(KEYS[2], box.last, fields(unpack(ARGV)))
if not id then return failure end
if not box.known then
  local t = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'v', '1', 'born', text(t[1] * 1000000 + t[2]))
end
redis.call('HSET', KEYS[1], 'last', text(id))
if bytes > small then
  redis.call('ZADD', KEYS[4], text(id), text(id) .. '-' .. bytes)
  redis.call('HSET', KEYS[1], 'held', text(box.held + bytes))
end
extend(box)
return {'ok', text(id)}
