-- Deletes a box, whatever state it is in; only a newer format is refused.
-- KEYS: see mailbox.lua
-- Returns {'ok'}: there is no such box any more
--         or the refusal {'newer', version} of mailbox.lua

local v = redis.pcall('HGET', KEYS[1], 'v')
if type(v) == 'string' and (tonumber(v) or 0) > 1 then return {'newer', v} end
redis.call('UNLINK', unpack(KEYS))
return {'ok'}
