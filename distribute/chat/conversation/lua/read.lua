-- Reads a page of what is unread, and acknowledges it.
-- ARGV[1] who reads  ARGV[2] that one's name  ARGV[3] most messages
-- ARGV[4] token, new for every read: the last 32 reads of a person can be
-- repeated
-- Returns {'ok', total, unread, more, to, entries}: as peek.lua;
--         unread is the number before this read
-- @include opened_pair

local reads = redis.call('HGET', HASH, 'reads' .. me) or ''
local from, upTo, before = chat['cursor' .. me], exact, chat['read' .. me]
local repeated = false
for token, a, b, c in string.gmatch(reads, record) do
  if token == ARGV[4] then
    repeated, from, upTo, before = true, whole(a), whole(b), whole(c)
  end
end
local page, to, read, more = pageFor(chat, ARGV[2], from, upTo, tonumber(ARGV[3]))
if repeated then
  more = upTo < chat.last
elseif to > from then
  acknowledge(chat, to, read)
  if #page > 0 then
    local kept, n = table.concat({ARGV[4], int(from), int(to), int(before), int(clock_ms())}, ' '), 1
    for one in string.gmatch(reads, '[^;]+') do
      n = n + 1
      if n <= 32 then kept = kept .. ';' .. one end
    end
    redis.call('HSET', HASH, 'reads' .. me, kept)
  end
end
return {'ok', total(chat), int(math.max(0, chat['sent' .. peer] - before)), more and 1 or 0, int(to), page}
