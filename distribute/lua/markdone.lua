#!lua flags=allow-oom
-- Marks a file as done if every remaining subscriber has counted its last
-- shipment. It is called after a subscriber was removed.
-- ARGV: file id
-- Returns 1 if it is done (now or before), else 0.
-- @include channel
-- @include done
local last, state = unpack(call('HMGET', FILE, 'ship', 'state'))
if state == 'done' then return 1 end
if state ~= 'uploaded' or call('HLEN', SUBSCRIBERS) == 0 then return 0 end
return mark_done(ARGV[1], last) and 1 or 0
