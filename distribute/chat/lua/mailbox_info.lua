-- Tells about a box.
-- KEYS: see mailbox.lua
-- Returns {'ok', unread, bytes, last, seen, messages, most bytes, full, idle}:
--         seen in ms, '' if the receiver never was here; idle in ms, '0' if
--         the box does not expire
--         or a refusal of mailbox.lua

local box, refusal = open()
if not box then return refusal end
return {'ok', text(box.unread), text(size(box)), text(box.last), box.seen,
  text(box.messages), text(box.bytes), box.full, text(box.idle)}
