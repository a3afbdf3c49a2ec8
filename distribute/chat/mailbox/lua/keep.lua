-- Drops all unread messages but the newest.
-- ARGV[1] how many to keep
-- Returns {'ok', more}: more is 1 when there is more to drop: call again
-- @include opened_box

local keep = tonumber(ARGV[1])
return {'ok', drop(box, function() return box.unread > keep end)}
