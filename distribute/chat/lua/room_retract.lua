-- Takes a message back, and appends a notice of it for those who have it.
-- KEYS, ARGV[1] id, ARGV[2] key: see room.lua
-- ARGV[3] id of the message
-- Returns {'ok'}: it is gone, by this call or an earlier one, or was dropped
--         {'nomessage'}: it was never sent
--         {'notinroom'}, {'notallowed'}
--         or a refusal of room.lua

local room, refusal = open()
if not room then return refusal end
local may, why = allowed(room)
if why and why[1] == 'notinroom' then return why end
local id = tonumber(ARGV[3])
if id > room.last then adopt(room) end
if id < 1 or id > room.last then return {'nomessage'} end
local entry = redis.call('XRANGE', KEYS[2], text(id) .. '-0', text(id) .. '-0')[1]
if not entry then return {'ok'} end
local values = {}
for i = 1, #entry[2] - 1, 2 do values[entry[2][i]] = entry[2][i + 1] end
if values.retracts then return {'nomessage'} end
if not may and values.sender ~= ARGV[1] then return why end

local notice, failure = append(KEYS[2], room.last,
  {'retracts', text(id), 'by', ARGV[1], 'time', text(room.now)})
if not notice then return failure end
redis.call('XDEL', KEYS[2], text(id) .. '-0')
room.last = notice
redis.call('HSET', KEYS[1], 'last', text(notice))
trim(room)
bind(room)
return {'ok'}
