-- Reads a page of the history.
-- ARGV[1] the reader, '1' or '2'  ARGV[2] 'oldest' or 'newest': where to start
-- ARGV[3] lower bound, an id, exclusive  ARGV[4] upper bound, an id, exclusive
-- ARGV[5] max messages
-- Returns {'ok', total, unread, entries}: entries in the order of reading
-- @include opened_pair

local low, high = '(' .. after(tonumber(ARGV[3])), '(' .. ARGV[4] .. '-0'
local page, max_messages = {}, tonumber(ARGV[5])
local function collect(entry)
  page[#page + 1] = entry
  return #page == max_messages
end
if ARGV[2] == 'oldest' then
  walk('XRANGE', low, high, collect)
else
  walk('XREVRANGE', high, low, collect)
end
return {'ok', total(chat), int(unread(chat)), page}
