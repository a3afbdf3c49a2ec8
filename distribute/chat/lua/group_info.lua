-- Tells about a chat.
-- KEYS: see group.lua
-- Returns {'ok', more, kind, last, created, kept, members, oldest, bytes, limits}:
--         kept messages and members are counts; oldest is an id, '0' when no
--         message is kept; bytes are those of the kept messages; limits are as
--         group_limits.lua notes them, '' for none
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local more, bytes = enforce(chat), 0
local kept = redis.call('XLEN', KEYS[2])
if kept > 0 then bytes = math.max(chat.sent - math.max(first_standing(chat), 0), 0) end
return {'ok', more, chat.kind, text(chat.last), chat.created, kept, redis.call('ZCARD', KEYS[3]),
  kept > 0 and text(chat.oldest) or '0', text(bytes), redis.call('HGET', KEYS[1], 'limits') or ''}
