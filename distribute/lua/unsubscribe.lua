#!lua flags=allow-oom
-- Removes a subscriber with its sums and claims; the caller deletes its counts in
-- steps. Until settled.lua, the channel has files that may wait for no subscriber.
-- ARGV: name
-- Returns 1 if the subscriber existed, else 0.
-- @include channel
-- @include signal
local gone = call('HDEL', SUBSCRIBERS, ARGV[1])
if gone == 1 then call('HINCRBY', CHANNEL, 'unsettled', 1) end
call('UNLINK', SUBSCRIBER, CLAIMS, OWNERS)
signal('gone', 'subscriber')
return gone
