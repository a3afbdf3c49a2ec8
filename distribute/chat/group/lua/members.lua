-- Reads one page of the members.
-- ARGV[1] ZSCAN cursor, '0' for the first page
-- Returns {'ok', more, last, oldest, next, member, cursor, seen, …}: last is the
--         last id of the chat, oldest the id of the oldest kept message, last + 1
--         if none is kept; next is the ZSCAN cursor, '0' after the last page; seen
--         is the member's last visit in ms, '0' if unknown
-- @include opened_chat

local page = {'ok', enforce(chat), int(chat.last), int(chat.oldest)}
if page[2] == 1 then return page end
local scan = redis.call('ZSCAN', CURSORS, ARGV[1], 'COUNT', 500)
page[5] = scan[1]
for i = 1, #scan[2], 2 do
  page[#page + 1] = scan[2][i]
  page[#page + 1] = int(whole(scan[2][i + 1]))
  page[#page + 1] = int(whole(redis.call('ZSCORE', SEEN, scan[2][i]) or ''))
end
return page
