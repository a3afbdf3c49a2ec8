-- Deletes a conversation in any state; only a newer format is refused. The last
-- id is kept for a day, so that new ids follow it: an id of a deleted message
-- can't acknowledge a new message. Redis frees the memory in the background.
-- Returns {'ok'}: the pair has no conversation any more
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
