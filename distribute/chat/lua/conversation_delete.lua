-- Deletes a conversation, whatever state it is in; only a newer format is
-- refused. The memory is given back in the background.
-- KEYS, ARGV[1]: see conversation.lua
-- Returns {'ok'}: there is no such conversation any more
--         or the refusal {'newer', version} of conversation.lua

local _, refusal = open()
if refusal and refusal[1] == 'newer' then return refusal end
redis.call('UNLINK', KEYS[1], KEYS[2])
return {'ok'}
