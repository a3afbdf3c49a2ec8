-- Reads a page of the history.
-- ARGV[1] who reads  ARGV[2] 'oldest' or 'newest': where to begin
-- ARGV[3] id to stay behind  ARGV[4] id to stay before  ARGV[5] most messages
-- Returns {'ok', total, unread, entries}: from where it began on
-- @include opened_pair

local low, high = '(' .. behind(tonumber(ARGV[3])), '(' .. ARGV[4] .. '-0'
local page, most = {}, tonumber(ARGV[5])
local function take(entry)
  page[#page + 1] = entry
  return #page == most
end
if ARGV[2] == 'oldest' then
  walk('XRANGE', low, high, take)
else
  walk('XREVRANGE', high, low, take)
end
return {'ok', total(chat), int(unread(chat)), page}
