-- Reads one page of those who are in the room or muted.
-- KEYS, ARGV[1] id, ARGV[2] key: see room.lua
-- ARGV[3] '3' for those inside, '5' for the muted  ARGV[4] where to go on, '0' at
-- first
-- Returns {'ok', next, id, until, nickname, muted, id…}: next is '0' after the
--         last page; until is in ms, '0' for who is not inside; muted is until
--         when in ms, '' for good, '0' for who is not
--         {'notinroom'}
--         or a refusal of room.lua

local room, refusal = open()
if not room then return refusal end
if not present(room, ARGV[1]) and not allowed(room) then return {'notinroom'} end
local scan = redis.call('ZSCAN', KEYS[tonumber(ARGV[3])], ARGV[4], 'COUNT', 200)
local page, ids = {'ok', scan[1]}, {}
for i = 1, #scan[2], 2 do ids[#ids + 1] = scan[2][i] end
if #ids == 0 then return page end
local inside = redis.call('ZMSCORE', KEYS[3], unpack(ids))
local seats = redis.call('HMGET', KEYS[4], unpack(ids))
local mutes = redis.call('ZMSCORE', KEYS[5], unpack(ids))
for i, id in ipairs(ids) do
  local stays, muted = whole(inside[i]), whole(mutes[i])
  page[#page + 1] = id
  page[#page + 1] = stays > room.now and text(stays) or '0'
  page[#page + 1] = stays > room.now and string.match(seats[i] or '', '^%w+ (.+)$') or ''
  page[#page + 1] = muted > room.now and ending(muted) or '0'
end
return page
