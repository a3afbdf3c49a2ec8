-- Opens the chat. If that is refused, the script returns the refusal.
-- @include group

local chat, refusal = open()
if not chat then return refusal end
