-- Deletes a chat, whatever state it is in; only a newer format is refused.
-- The memory is given back in the background.
-- KEYS: see group.lua
-- Returns {'ok', 0}: there is no such chat any more
--         or the refusal {'newer', version} of group.lua

local v = redis.pcall('HGET', KEYS[1], 'v')
if type(v) == 'string' and (tonumber(v) or 0) > 1 then return {'newer', v} end
delete()
return {'ok', 0}
