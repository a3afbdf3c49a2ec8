-- Appends a message under the next id, and renews the room's time to live.
-- ARGV[3] body  ARGV[4] type, or ''  ARGV[5] URL, or ''
-- Returns {'ok', id}
--         {'notinroom'}
--         {'muted', until}: in ms, '' for a mute without end
-- @include opened_room

if not present(room, ARGV[1]) then return {'notinroom'} end
local till = muted(room)
if till then return {'muted', ending(till)} end

local list = fields(ARGV[1], ARGV[3], ARGV[4], ARGV[5])
local nick = string.match(redis.call('HGET', NICKS, ARGV[1]) or '', '^%w+ (.+)$')
if nick then list[#list + 1], list[#list + 2] = 'nick', nick end
local id, failure = append(room.last, list)
if not id then return failure end
room.last, room.dies = id, room.now + room.ttl
redis.call('HSET', HASH, 'last', int(id), 'dies', int(room.dies))
if #ARGV[3] > small then redis.call('HSET', HASH, 'big', int(id)) end
drop_old(room)
renew_presence(room)
set_expiry(room)
return {'ok', int(id)}
