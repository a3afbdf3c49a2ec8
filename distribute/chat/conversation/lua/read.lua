-- Reads a page of the unread messages, and acknowledges it.
-- ARGV[1] the reader, '1' or '2'  ARGV[2] the reader's name
-- ARGV[3] max messages  ARGV[4] token, new for every read: each of a person's
-- last 32 reads can be repeated
-- Returns {'ok', total, unread, more, to, entries}: as peek.lua;
--         unread is the number before this read
-- @include opened_pair when_full

local reads = redis.call('HGET', HASH, 'reads' .. caller) or ''
local from, up_to, before = chat['cursor' .. caller], exact, chat['read' .. caller]
local repeated = false
for token, a, b, c in string.gmatch(reads, read_pattern) do
  if token == ARGV[4] then
    repeated, from, up_to, before = true, whole(a), whole(b), whole(c)
  end
end
local page, to, read, more = read_page(chat, ARGV[2], from, up_to, tonumber(ARGV[3]))
if repeated then
  more = up_to < chat.last
elseif to > from then
  acknowledge(chat, to, read)
  if #page > 0 then
    local kept, n = table.concat({ARGV[4], int(from), int(to), int(before), int(clock_ms())}, ' '), 1
    for one in string.gmatch(reads, '[^;]+') do
      n = n + 1
      if n <= 32 then kept = kept .. ';' .. one end
    end
    redis.call('HSET', HASH, 'reads' .. caller, kept)
  end
end
return {'ok', total(chat), int(math.max(0, chat['sent' .. peer] - before)), more and 1 or 0, int(to), page}
