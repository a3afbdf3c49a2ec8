-- Opens the pair. If that is refused, the script returns the refusal.
-- @include conversation

local chat, refusal = open()
if not chat then return refusal end
