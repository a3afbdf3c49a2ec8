-- Opens the box. If that is refused, the script returns the refusal.
-- @include mailbox

local box, refusal = open()
if not box then return refusal end
