-- Tells about a chat.
-- KEYS: see group.lua
-- Returns {'ok', kind, last, created, kept, members, oldest}: kept messages and
--         members are counts; oldest is an id, '0' when no message is kept
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local kept = redis.call('XLEN', KEYS[2])
return {'ok', chat.kind, text(chat.last), chat.created, kept, redis.call('ZCARD', KEYS[3]),
  kept > 0 and text(chat.oldest) or '0'}
