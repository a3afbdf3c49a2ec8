-- Removes a subscriber with its small records; the caller deletes its totals in
-- steps.
-- ARGV: name
-- Returns 1 if there was one, else 0.
-- @include channel
-- @include signal
local gone = call('HDEL', SUBSCRIBERS, ARGV[1])
call('UNLINK', SUBSCRIBER, CLAIMS, OWNERS)
signal('gone', 'subscriber')
return gone
