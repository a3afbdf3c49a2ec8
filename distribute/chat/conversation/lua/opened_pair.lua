-- Opens the pair, or ends the script with the refusal.
-- @include conversation

local chat, refusal = open()
if not chat then return refusal end
