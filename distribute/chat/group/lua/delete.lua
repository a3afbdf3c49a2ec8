-- Deletes a chat, in any state; only a newer format is refused.
-- The memory is given back in the background.
-- Returns {'ok', 0}: there is no such chat any more
--         or the refusal {'newer', version} of group.lua
-- @include group

return delete_known() or {'ok', 0}
