#!lua flags=allow-oom
-- Notes that nothing is left of a removed subscriber, whose name can be used again, or of the earlier
-- epoch of one that was reset.
-- ARGV: name; number of the removal, or of the reset
-- Returns 1, or 0 if it was complete before.
-- @include channel
local name, number = unpack(ARGV)
if call('HGET', REMOVED, name) ~= number then return 0 end
return call('HDEL', REMOVED, name)
