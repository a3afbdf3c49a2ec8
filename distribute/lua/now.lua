-- Tells the time of the server that holds a key, so that all times of a channel
-- are of one clock, on a Cluster too.
--
-- KEYS 1 any key of the channel
-- Returns the time in ms.
local now = redis.call('TIME')
return string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
