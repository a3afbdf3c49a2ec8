#!lua flags=allow-oom
-- Begins a report: reads what a subscriber has counted at one moment. Until the report
-- ends or its time is over, fold.lua moves no cells, so that the totals and the cells of
-- these commits stay as they are.
-- ARGV: subscriber; token of the report; its time in ms
-- Returns {settings, {sum field, value, …}, {commit with sealed cells, …}, {imported source,
-- 'EPOCH COMMIT IMPORT', …}}; an empty list if there is no such subscriber, and {''} while its reset
-- is not complete.
-- @include channel
local subscriber, token, ms = unpack(ARGV)
local settings, now = call('HGET', SUBSCRIBERS, subscriber), clock_ms()
if not settings then return {} end
if call('HEXISTS', REMOVED, subscriber) == 1 then return {''} end
call('ZREMRANGEBYSCORE', READERS, '-inf', int(now))
call('ZADD', READERS, int(now + ms), token)
return {settings, call('HGETALL', SUBSCRIBER), call('SMEMBERS', SEALED), call('HGETALL', SOURCES)}
