-- Drops all unread messages but the newest.
-- KEYS: see mailbox.lua
-- ARGV[1] how many to keep
-- Returns {'ok', more}: more is 1 when there is more to drop: call again
--         or a refusal of mailbox.lua

local box, refusal = open()
if not box then return refusal end
local keep = tonumber(ARGV[1])
return {'ok', drop(box, function() return box.unread > keep end)}
