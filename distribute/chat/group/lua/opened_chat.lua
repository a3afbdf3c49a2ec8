-- Opens the chat, or ends the script with the refusal.
-- @include group

local chat, refusal = open()
if not chat then return refusal end
