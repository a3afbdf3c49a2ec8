-- Returns the state of a chat.
-- Returns {'ok', more, kind, last, created, kept, members, oldest, bytes, limits}:
--         kept and members are the numbers of kept messages and of members;
--         oldest is an id, '0' if no message is kept; bytes is the size of the
--         kept messages; limits has the format of limits.lua, '' for none
-- @include opened_chat

local more, bytes = enforce(chat), 0
local kept = redis.call('XLEN', LOG)
if kept > 0 then bytes = math.max(chat.sent - math.max(probe_oldest(chat), 0), 0) end
return {'ok', more, chat.kind, int(chat.last), chat.created, kept, redis.call('ZCARD', CURSORS),
  kept > 0 and int(chat.oldest) or '0', int(bytes), redis.call('HGET', HASH, 'limits') or ''}
