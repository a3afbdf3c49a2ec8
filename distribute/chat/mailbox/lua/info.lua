-- Returns the state of a box.
-- Returns {'ok', unread, bytes, last, seen, max messages, max bytes, full, idle}:
--         seen is the receiver's last visit in ms, '' if there was none; idle is
--         in ms, '0' if the box does not expire
-- @include opened_box

return {'ok', int(box.unread), int(size(box)), int(box.last), box.seen,
  int(box.messages), int(box.bytes), box.full, int(box.idle)}
