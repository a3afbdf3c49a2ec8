-- Tells about the room.
-- KEYS, ARGV[1] id, ARGV[2] key: see room.lua
-- Returns {'ok', about}: as room.lua tells about it
--         {'notinroom'}
--         or a refusal of room.lua

local room, refusal = open()
if not room then return refusal end
if not present(room, ARGV[1]) and not allowed(room) then return {'notinroom'} end
return {'ok', about(room)}
