-- Deletes a box in any state; only a newer format is refused.
-- Returns {'ok'}: the box does not exist any more
--         or the refusal {'newer', version} of mailbox.lua
-- @include mailbox

return delete_known() or {'ok'}
