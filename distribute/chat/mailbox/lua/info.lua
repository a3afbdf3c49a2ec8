-- Tells about a box.
-- Returns {'ok', unread, bytes, last, seen, messages, most bytes, full, idle}:
--         seen in ms, '' if the receiver never was here; idle in ms, '0' if
--         the box does not expire
-- @include opened_box

return {'ok', int(box.unread), int(size(box)), int(box.last), box.seen,
  int(box.messages), int(box.bytes), box.full, int(box.idle)}
