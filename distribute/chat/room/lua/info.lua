-- Tells about the room.
-- Returns {'ok', about}: the state from room.lua
--         {'notinroom'}
-- @include opened_room

if not present(room, ARGV[1]) and not allowed(room) then return {'notinroom'} end
return {'ok', about(room)}
