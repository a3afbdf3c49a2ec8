-- Reads a page of the unread messages, without acknowledging them.
-- ARGV[1] the reader, '1' or '2'  ARGV[2] the reader's name
-- ARGV[3] max messages  ARGV[4] id after which to start, if the cursor is lower
-- Returns {'ok', total, unread, more, to, entries}: total is the number of
--         messages ever sent, unread that of unread ones; more is 1 if messages
--         follow the page, which reaches the id to
-- @include opened_pair

local from = math.max(read_after(ARGV[4], chat.last), chat['cursor' .. caller])
local page, to, _, more = read_page(chat, ARGV[2], from, exact, tonumber(ARGV[3]))
return {'ok', total(chat), int(unread(chat)), more and 1 or 0, int(to), page}
