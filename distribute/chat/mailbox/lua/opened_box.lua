-- Opens the box, or ends the script with the refusal.
-- @include mailbox

local box, refusal = open()
if not box then return refusal end
