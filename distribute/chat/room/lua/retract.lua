-- Takes a message back, and appends a notice of it for those who have it.
-- ARGV[3] id of the message
-- Returns {'ok'}: it is gone, by this call or an earlier one, or was dropped
--         {'nomessage'}: it was never sent
--         {'notinroom'}, {'notallowed'}
-- @include opened_room

local may, why = allowed(room)
if why and why[1] == 'notinroom' then return why end
local id = tonumber(ARGV[3])
if id > room.last then adopt(room) end
if id < 1 or id > room.last then return {'nomessage'} end
local entry = redis.call('XRANGE', LOG, int(id) .. '-0', int(id) .. '-0')[1]
if not entry then return {'ok'} end
local values = fields_of(entry[2])
if values.retracts then return {'nomessage'} end
if not may and values.sender ~= ARGV[1] then return why end

local notice, failure = append(room.last,
  {'retracts', int(id), 'by', ARGV[1], 'time', int(room.now)})
if not notice then return failure end
redis.call('XDEL', LOG, int(id) .. '-0')
room.last = notice
redis.call('HSET', HASH, 'last', int(notice))
drop_old(room)
bind(room)
return {'ok'}
