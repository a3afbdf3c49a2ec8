-- Opens the room, or ends the script with the refusal.
-- @include room

local room, refusal = open()
if not room then return refusal end
