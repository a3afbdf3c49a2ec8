-- Tells about a chat.
-- Returns {'ok', more, kind, last, created, kept, members, oldest, bytes, limits}:
--         kept messages and members are counts; oldest is an id, '0' when no
--         message is kept; bytes are those of the kept messages; limits are as
--         limits.lua notes them, '' for none
-- @include opened_chat

local more, bytes = enforce(chat), 0
local kept = redis.call('XLEN', LOG)
if kept > 0 then bytes = math.max(chat.sent - math.max(first_standing(chat), 0), 0) end
return {'ok', more, chat.kind, int(chat.last), chat.created, kept, redis.call('ZCARD', CURSORS),
  kept > 0 and int(chat.oldest) or '0', int(bytes), redis.call('HGET', HASH, 'limits') or ''}
