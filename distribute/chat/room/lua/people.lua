-- Reads one page of the people in the room, or of the muted people.
-- ARGV[3] index in KEYS: '3' for the people in the room, '5' for the muted
-- ARGV[4] ZSCAN cursor, '0' for the first page
-- Returns {'ok', next, id, until, nickname, muted, id…}: next is the ZSCAN cursor,
--         '0' after the last page; until is the end of the presence in ms, '0' if
--         the person is not in the room; muted is the end of the mute in ms, ''
--         if it has none, '0' if the person is not muted
--         {'notinroom'}
-- @include opened_room

if not present(room, ARGV[1]) and not allowed(room) then return {'notinroom'} end
local scan = redis.call('ZSCAN', KEYS[tonumber(ARGV[3])], ARGV[4], 'COUNT', 200)
local page, ids = {'ok', scan[1]}, {}
for i = 1, #scan[2], 2 do ids[#ids + 1] = scan[2][i] end
if #ids == 0 then return page end
local inside = redis.call('ZMSCORE', PEOPLE, unpack(ids))
local entries = redis.call('HMGET', NICKS, unpack(ids))
local mutes = redis.call('ZMSCORE', MUTES, unpack(ids))
for i, id in ipairs(ids) do
  local present_until, muted_until = whole(inside[i]), whole(mutes[i])
  page[#page + 1] = id
  page[#page + 1] = present_until > room.now and int(present_until) or '0'
  page[#page + 1] = present_until > room.now and string.match(entries[i] or '', '^%w+ (.+)$') or ''
  page[#page + 1] = muted_until > room.now and ending(muted_until) or '0'
end
return page
