-- Reads a page of what is unread.
-- ARGV[1] who reads  ARGV[2] that one's name  ARGV[3] most messages
-- ARGV[4] id to start behind, if the cursor is not further
-- Returns {'ok', total, unread, more, to, entries}: messages ever sent; how many
--         are unread; more is 1 when this ended before the end, at the id to
-- @include opened_pair

local from = tonumber(ARGV[4])
-- An id that was not given yet is of a conversation that was deleted since.
if from > chat.last and from > newest() then from = 0 end
from = math.max(from, chat['cursor' .. me])
local page, to, _, more = pageFor(chat, ARGV[2], from, exact, tonumber(ARGV[3]))
return {'ok', total(chat), int(unread(chat)), more and 1 or 0, int(to), page}
