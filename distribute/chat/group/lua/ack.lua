-- Moves a member's cursor forward, and cleans what all have dealt with.
-- ARGV[1] member  ARGV[2] id of the last message dealt with
-- Returns {'ok', more, cursor}
--         {'ahead', last}: there is no such message yet
--         {'notmember'}
-- @include opened_chat

local cursor = enter(ARGV[1])
if not cursor then return {'notmember'} end
local to = tonumber(ARGV[2])
if to > chat.last then adopt(chat) end
if to > chat.last then return {'ahead', int(chat.last)} end
if to > cursor then
  cursor = to
  redis.call('ZREM', CURSORS, ARGV[1]) -- after this, a full Redis lets ZADD pass
  redis.call('ZADD', CURSORS, int(cursor), ARGV[1])
end
return {'ok', clean(chat), int(cursor)}
