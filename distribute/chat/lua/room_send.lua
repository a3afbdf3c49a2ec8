-- Appends a message under the next id, and starts the room's time anew.
-- KEYS, ARGV[1] sender, ARGV[2] key: see room.lua
-- ARGV[3] body  ARGV[4] type, or ''  ARGV[5] URL, or ''
-- Returns {'ok', id}
--         {'notinroom'}
--         {'muted', until}: in ms, '' for good
--         or a refusal of room.lua

local room, refusal = open()
if not room then return refusal end
if not present(room, ARGV[1]) then return {'notinroom'} end
local till = muted(room)
if till then return {'muted', ending(till)} end

local list = fields(ARGV[1], ARGV[3], ARGV[4], ARGV[5])
local nick = string.match(redis.call('HGET', KEYS[4], ARGV[1]) or '', '^%w+ (.+)$')
if nick then list[#list + 1], list[#list + 2] = 'nick', nick end
local id, failure = append(KEYS[2], room.last, list)
if not id then return failure end
room.last, room.dies = id, room.now + room.ttl
redis.call('HSET', KEYS[1], 'last', text(id), 'dies', text(room.dies))
if #ARGV[3] > small then redis.call('HSET', KEYS[1], 'big', text(id)) end
trim(room)
stay(room)
bind(room)
return {'ok', text(id)}
