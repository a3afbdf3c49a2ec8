-- Reads one page of the members.
-- KEYS: see group.lua
-- ARGV[1] where to go on, '0' at first
-- Returns {'ok', last, next, member, cursor, member, cursor…}: last is the
--         last id of the chat; next is '0' after the last page
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local scan = redis.call('ZSCAN', KEYS[3], ARGV[1], 'COUNT', 500)
local page = {'ok', text(chat.last), scan[1]}
for i = 1, #scan[2], 2 do
  page[#page + 1] = scan[2][i]
  page[#page + 1] = text(whole(scan[2][i + 1]))
end
return page
