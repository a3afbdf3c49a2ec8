-- Returns the state of the room.
-- Returns {'ok', state}: as state_of returns it
--         {'notinroom'}
-- @include opened_room

if not present(room, ARGV[1]) and not allowed(room) then return {'notinroom'} end
return {'ok', state_of(room)}
