-- Deletes a chat, whatever state it is in; only a newer format is refused.
-- The memory is given back in the background.
-- KEYS: see group.lua
-- Returns {'ok', 0}: there is no such chat any more
--         or the refusal {'newer', version} of group.lua

local _, refusal = open()
if refusal and refusal[1] == 'newer' then return refusal end
delete()
return {'ok', 0}
