-- Tells about the room.
-- Returns {'ok', about}: as room.lua tells about it
--         {'notinroom'}
-- @include opened_room

if not present(room, ARGV[1]) and not allowed(room) then return {'notinroom'} end
return {'ok', about(room)}
