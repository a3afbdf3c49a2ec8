-- Appends a message under the next id.
-- KEYS: see group.lua
-- ARGV[1] sender  ARGV[2] body  ARGV[3] type, or ''  ARGV[4] URL, or ''
-- Returns {'ok', id}
--         {'notmember'}: the chat is between people and the sender is not in it
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local cursor = redis.call('ZSCORE', KEYS[3], ARGV[1])
if chat.kind == 'people' and not cursor then return {'notmember'} end

local id, failure = append(KEYS[2], chat.last, fields(unpack(ARGV)))
if not id then return failure end
redis.call('HSET', KEYS[1], 'last', text(id))
if #ARGV[2] > small then redis.call('HSET', KEYS[1], 'big', text(id)) end
-- Who had nothing unread has read up to here: otherwise a member that only
-- talks would keep everything from being cleaned.
if cursor and whole(cursor) >= chat.last then
  redis.call('ZADD', KEYS[3], text(id), ARGV[1])
  clean(chat)
end
return {'ok', text(id)}
