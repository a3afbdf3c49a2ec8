-- Reads one page of a person's list.
-- KEYS[1] the list (sorted set)  KEYS[2] its wake-up stream
-- ARGV[1] where to go on, '0' at first
-- Returns {'ok', now, wake, next, chat, written, chat, written…}: now is the
--         time in ms; wake is the id of the last wake-up, '0' if there is
--         none; next is '0' after the last page; written is when the entry was
--         written, in ms

local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local wake = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local scan = redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', 500)
local page = {'ok', now, wake and wake[1] or '0', scan[1]}
for _, value in ipairs(scan[2]) do page[#page + 1] = value end
return page
