#!lua flags=allow-oom
-- Notes that nothing is left of a removed subscriber: its name can be used again.
-- ARGV: name; number of the removal
-- Returns 1, or 0 if the removal was complete before.
-- @include channel
local name, number = unpack(ARGV)
if call('HGET', REMOVED, name) ~= number then return 0 end
return call('HDEL', REMOVED, name)
