-- Reads one page of a person's list.
-- KEYS: the list (sorted set), its wake-up stream
-- ARGV[1] ZSCAN cursor, '0' for the first page
-- Returns {'ok', now, wake, next, chat, written, chat, written…}: now is the
--         time in ms; wake is the id of the last wake-up, '0' if there is
--         none; next is the ZSCAN cursor, '0' after the last page; written is
--         the time the entry was written, in ms
-- @include int
-- @include clock

local wake = redis.call('XREVRANGE', WAKE, '+', '-', 'COUNT', 1)[1]
local scan = redis.call('ZSCAN', LIST, ARGV[1], 'COUNT', 500)
local page = {'ok', int(clock_ms()), wake and wake[1] or '0', scan[1]}
for _, value in ipairs(scan[2]) do page[#page + 1] = value end
return page
