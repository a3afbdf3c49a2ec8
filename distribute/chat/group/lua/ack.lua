-- Moves a member's cursor forward, and drops messages that all members have
-- acknowledged.
-- ARGV[1] member  ARGV[2] id of the last message acknowledged
-- Returns {'ok', more, cursor}
--         {'ahead', last}: no message has this id yet
--         {'notmember'}
-- @include opened_chat

local cursor = visit(ARGV[1])
if not cursor then return {'notmember'} end
local to = tonumber(ARGV[2])
if to > chat.last then adopt(chat) end
if to > chat.last then return {'ahead', int(chat.last)} end
if to > cursor then
  cursor = to
  redis.call('ZREM', CURSORS, ARGV[1]) -- frees memory, so that a full Redis accepts ZADD
  redis.call('ZADD', CURSORS, int(cursor), ARGV[1])
end
return {'ok', clean(chat), int(cursor)}
