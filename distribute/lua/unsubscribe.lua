-- Removes a subscriber with its sums and claims; the caller deletes its counts in
-- steps.
-- ARGV: name
-- Returns 1 if the subscriber existed, else 0.
-- @include channel
-- @include signal
local gone = call('HDEL', SUBSCRIBERS, ARGV[1])
call('UNLINK', SUBSCRIBER, CLAIMS, OWNERS)
signal('gone', 'subscriber')
return gone
