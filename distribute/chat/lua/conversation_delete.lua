-- Deletes a conversation, whatever state it is in; only a newer format is
-- refused. For a day the last id stays, so that ids go on behind it: who still
-- holds one of the old messages can't acknowledge a new one by it. The memory is
-- given back in the background.
-- KEYS, ARGV[1]: see conversation.lua
-- Returns {'ok'}: there is no such conversation any more
--         or the refusal {'newer', version} of conversation.lua

local kind = redis.call('TYPE', KEYS[1]).ok
local chat, refusal
if kind == 'hash' then
  chat, refusal = open()
  if refusal and refusal[1] == 'newer' then return refusal end
end
redis.call('UNLINK', KEYS[1], KEYS[2])
if chat and chat.last > 0 then
  local last = text(chat.last)
  redis.call('HSET', KEYS[1], 'v', '1', 'last', last, 'cursor1', last, 'cursor2', last,
    'oldest', text(math.min(chat.last + 1, exact)))
  redis.call('PEXPIRE', KEYS[1], '86400000')
end
return {'ok'}
