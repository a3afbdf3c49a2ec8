-- Reads what is pending for a member, if it is small.
-- KEYS: see group.lua
-- ARGV[1] member  ARGV[2] most messages
-- Returns {'ok', cursor, entries}: in order, ending early after 64 KiB
--         {'ok', cursor}: among them may be big ones, which a script would copy
--         for milliseconds: read the log after the cursor
--         {'notmember'}
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local cursor = redis.call('ZSCORE', KEYS[3], ARGV[1])
if not cursor then return {'notmember'} end
cursor = whole(cursor)
if cursor < chat.big and chat.oldest <= chat.big then return {'ok', text(cursor)} end
local found, bytes, most, ahead = {}, 0, tonumber(ARGV[2]), 4
local after = text(cursor)
while #found < most and bytes < 65536 do
  local want = math.min(ahead, most - #found)
  local page = redis.call('XRANGE', KEYS[2], '(' .. after .. '-18446744073709551615', '+', 'COUNT', want)
  for _, entry in ipairs(page) do
    found[#found + 1] = entry
    after = text(number(entry))
    for _, value in ipairs(entry[2]) do bytes = bytes + #value end
  end
  if #page < want then break end
  ahead = math.min(2 * ahead, 64)
end
return {'ok', text(cursor), found}
