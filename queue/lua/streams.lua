-- Whether the server counts the entries that are added to a stream, as Redis does from 7.0
-- on. The embedded server does not.
local STREAMS_COUNT = redis.REDIS_VERSION_NUM ~= nil
