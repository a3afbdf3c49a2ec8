#!lua flags=allow-oom
-- Notes that no file waits for a subscriber that was removed.
-- ARGV: value of 'unsettled' before the files were looked at
-- Returns 1, or 0 if a subscriber was removed since.
-- @include channel
if call('HGET', CHANNEL, 'unsettled') ~= ARGV[1] then return 0 end
return call('HDEL', CHANNEL, 'unsettled')
