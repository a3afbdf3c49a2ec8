-- Reads what is pending for a member, if it is small.
-- ARGV[1] member  ARGV[2] most messages  ARGV[3] id of a message to start after,
--         if that is after the member's cursor
-- Returns {'ok', more, after, entries}: those after that id or after the cursor,
--         in order, ending early after 64 KiB
--         {'ok', more, after}: among them may be big ones, which a script would
--         copy for milliseconds: read the log
--         {'notmember'}
-- @include opened_chat

local cursor = enter(ARGV[1])
if not cursor then return {'notmember'} end
cursor = math.max(cursor, whole(ARGV[3]))
local more = enforce(chat)
if more == 1 or cursor < chat.big and chat.oldest <= chat.big then return {'ok', more, int(cursor)} end
local found, bytes, most, ahead = {}, 0, tonumber(ARGV[2]), 4
local after = int(cursor)
while #found < most and bytes < 65536 do
  local want = math.min(ahead, most - #found)
  local page = redis.call('XRANGE', LOG, '(' .. after .. '-18446744073709551615', '+', 'COUNT', want)
  for _, entry in ipairs(page) do
    found[#found + 1] = entry
    after = int(number(entry))
    for _, value in ipairs(entry[2]) do bytes = bytes + #value end
  end
  if #page < want then break end
  ahead = math.min(2 * ahead, 16)
end
return {'ok', 0, int(cursor), found}
