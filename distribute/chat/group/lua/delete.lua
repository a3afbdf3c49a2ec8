-- Deletes a chat in any state; only a newer format is refused. Redis frees the
-- memory in the background.
-- Returns {'ok', 0}: the chat does not exist any more
--         or the refusal {'newer', version} of group.lua
-- @include group

return delete_known() or {'ok', 0}
