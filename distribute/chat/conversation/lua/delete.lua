-- Deletes a conversation, in any state; only a newer format is
-- refused. For a day the last id stays, so that ids go on behind it: who still
-- holds one of the old messages can't acknowledge a new one by it. The memory is
-- given back in the background.
-- Returns {'ok'}: there is no such conversation any more
--         or the refusal {'newer', version} of conversation.lua
-- @include conversation

local kind = redis.call('TYPE', HASH).ok
local chat, refusal
if kind == 'hash' then
  chat, refusal = open()
  if refusal and refusal[1] == 'newer' then return refusal end
end
redis.call('UNLINK', HASH, LOG)
if chat and chat.last > 0 then
  local last = int(chat.last)
  redis.call('HSET', HASH, 'v', '1', 'last', last, 'cursor1', last, 'cursor2', last,
    'oldest', int(math.min(chat.last + 1, exact)))
  redis.call('PEXPIRE', HASH, '86400000')
end
return {'ok'}
