-- Opens the room. If that is refused, the script returns the refusal.
-- @include room

local room, refusal = open()
if not room then return refusal end
