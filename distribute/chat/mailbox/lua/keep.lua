-- Drops all unread messages except the newest.
-- ARGV[1] number of messages to keep
-- Returns {'ok', more}: more is 1 if there is more to drop: call again
-- @include opened_box

local keep = tonumber(ARGV[1])
return {'ok', drop(box, function() return box.unread > keep end)}
