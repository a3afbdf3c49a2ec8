-- Makes a subscriber, or fixes the settings of one that has none yet.
-- ARGV: name; settings, empty: those of its first worker; if they have visitors, a random key
-- Returns the settings that hold now, which the caller compares; an empty list while
-- an earlier subscriber of this name is being removed.
-- @include channel
-- @include signal
local name, settings, key = unpack(ARGV)
local have = call('HGET', SUBSCRIBERS, name)
if have and (have ~= '' or settings == '') then return have end
if call('HEXISTS', REMOVED, name) == 1 then return {} end
call('HSET', SUBSCRIBERS, name, settings)
if not have then call('HSET', SUBSCRIBER, 'v', 5, 'since', int(clock_ms())) end
if key then call('HSETNX', SUBSCRIBER, 'visitors', key) end
signal('new', 'subscriber')
return settings
