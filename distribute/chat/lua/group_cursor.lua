-- Tells how far a member is.
-- KEYS: see group.lua
-- ARGV[1] member  ARGV[2] '1' if it is the member who asks
-- Returns {'ok', more, cursor, last, oldest, kind}: last is the last id of the
--         chat, oldest that of the oldest kept message, last + 1 if none is kept
--         {'notmember'}
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local cursor
if ARGV[2] == '1' then
  cursor = enter(ARGV[1])
else
  cursor = redis.call('ZSCORE', KEYS[3], ARGV[1])
end
if not cursor then return {'notmember'} end
return {'ok', enforce(chat), text(whole(cursor)), text(chat.last), text(chat.oldest), chat.kind}
