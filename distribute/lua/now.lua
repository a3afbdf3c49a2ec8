-- Returns the time of the server that holds a key, so that all times of a channel
-- are of one clock, also on a Cluster.
-- KEYS: any key of the channel
-- Returns the time in ms.
-- @include channel
return int(clock_ms())
