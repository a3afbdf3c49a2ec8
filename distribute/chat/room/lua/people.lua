-- Reads one page of those who are in the room or muted.
-- ARGV[3] '3' for those inside, '5' for the muted  ARGV[4] where to go on, '0' at
-- first
-- Returns {'ok', next, id, until, nickname, muted, id…}: next is '0' after the
--         last page; until is in ms, '0' for who is not inside; muted is until
--         when in ms, '' for good, '0' for who is not
--         {'notinroom'}
-- @include opened_room

if not present(room, ARGV[1]) and not allowed(room) then return {'notinroom'} end
local scan = redis.call('ZSCAN', KEYS[tonumber(ARGV[3])], ARGV[4], 'COUNT', 200)
local page, ids = {'ok', scan[1]}, {}
for i = 1, #scan[2], 2 do ids[#ids + 1] = scan[2][i] end
if #ids == 0 then return page end
local inside = redis.call('ZMSCORE', PEOPLE, unpack(ids))
local seats = redis.call('HMGET', NICKS, unpack(ids))
local mutes = redis.call('ZMSCORE', MUTES, unpack(ids))
for i, id in ipairs(ids) do
  local stays, mute = whole(inside[i]), whole(mutes[i])
  page[#page + 1] = id
  page[#page + 1] = stays > room.now and int(stays) or '0'
  page[#page + 1] = stays > room.now and string.match(seats[i] or '', '^%w+ (.+)$') or ''
  page[#page + 1] = mute > room.now and ending(mute) or '0'
end
return page
