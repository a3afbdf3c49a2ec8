#!lua flags=allow-oom
-- Removes a subscriber with its sums and claims. The caller then deletes its counts in
-- steps, with discard.lua, and any process can go on with that. Until removed.lua, no
-- subscriber of this name can be made.
-- ARGV: name
-- Returns the number of the removal, '' if there is neither the subscriber nor a
-- removal of it.
-- @include channel
-- @include signal
local name = ARGV[1]
if call('HDEL', SUBSCRIBERS, name) == 1 then
  call('HSET', REMOVED, name, call('HINCRBY', CHANNEL, 'removals', 1))
end
call('UNLINK', SUBSCRIBER, CLAIMS, OWNERS)
signal('gone', 'subscriber')
return call('HGET', REMOVED, name) or ''
