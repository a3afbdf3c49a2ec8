-- Moves a member's cursor forward, and cleans what all have dealt with.
-- KEYS: see group.lua
-- ARGV[1] member  ARGV[2] id of the last message dealt with
-- Returns {'ok', more, cursor}
--         {'ahead', last}: there is no such message yet
--         {'notmember'}
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local cursor = enter(ARGV[1])
if not cursor then return {'notmember'} end
local to = tonumber(ARGV[2])
if to > chat.last then adopt(chat) end
if to > chat.last then return {'ahead', text(chat.last)} end
if to > cursor then
  cursor = to
  redis.call('ZREM', KEYS[3], ARGV[1]) -- after this, a full Redis lets ZADD pass
  redis.call('ZADD', KEYS[3], text(cursor), ARGV[1])
end
return {'ok', clean(chat), text(cursor)}
