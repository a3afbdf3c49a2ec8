-- Marks a file as done if every subscriber has counted its last shipment: after
-- the removal of one that had not.
-- ARGV: file id
-- Returns 1 if it is done (now or before), else 0.
-- @include channel
-- @include done
local last, state = unpack(call('HMGET', FILE, 'ship', 'state'))
if state == 'done' then return 1 end
if state ~= 'uploaded' or call('HLEN', SUBSCRIBERS) == 0 then return 0 end
return finish(ARGV[1], last) and 1 or 0
