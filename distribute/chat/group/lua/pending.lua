-- Reads the pending messages of a member, unless big ones may be among them.
-- ARGV[1] member  ARGV[2] max messages  ARGV[3] id of a message after which to
--         start, if the member's cursor is lower; see read_after
-- Returns {'ok', more, after, entries}: entries in order from the id after on,
--         which is the higher of that id and the cursor; they end soon after 64 KiB
--         {'ok', more, after}: big messages may be among the entries, which a
--         script would copy for milliseconds: read the log without a script
--         {'notmember'}
-- @include opened_chat

local cursor = visit(ARGV[1])
if not cursor then return {'notmember'} end
cursor = math.max(cursor, read_after(ARGV[3], chat.last))
local more = enforce(chat)
if more == 1 or cursor < chat.big and chat.oldest <= chat.big then return {'ok', more, int(cursor)} end
local found, bytes, max_messages, batch = {}, 0, tonumber(ARGV[2]), 4
local after = int(cursor)
while #found < max_messages and bytes < 65536 do
  local want = math.min(batch, max_messages - #found)
  local page = redis.call('XRANGE', LOG, '(' .. after .. '-18446744073709551615', '+', 'COUNT', want)
  for _, entry in ipairs(page) do
    found[#found + 1] = entry
    after = int(number(entry))
    for _, value in ipairs(entry[2]) do bytes = bytes + #value end
  end
  if #page < want then break end
  batch = math.min(2 * batch, 16)
end
return {'ok', 0, int(cursor), found}
