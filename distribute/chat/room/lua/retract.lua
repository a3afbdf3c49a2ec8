-- Deletes a message from the log, and appends a notice of the retraction for
-- readers that already have the message.
-- ARGV[3] id of the message
-- Returns {'ok'}: deleted by this call or an earlier one, or dropped before
--         {'nomessage'}: no message was sent with this id
--         {'notinroom'}, {'notallowed'}
-- @include opened_room

local permitted, denial = allowed(room)
if denial and denial[1] == 'notinroom' then return denial end
local id = tonumber(ARGV[3])
if id > room.last then adopt(room) end
if id < 1 or id > room.last then return {'nomessage'} end
local entry = redis.call('XRANGE', LOG, int(id) .. '-0', int(id) .. '-0')[1]
if not entry then return {'ok'} end
local values = fields_of(entry[2])
if values.retracts then return {'nomessage'} end
if not permitted and values.sender ~= ARGV[1] then return denial end

local notice, failure = append(room.last,
  {'retracts', int(id), 'by', ARGV[1], 'time', int(room.now)})
if not notice then return failure end
redis.call('XDEL', LOG, int(id) .. '-0')
room.last = notice
redis.call('HSET', HASH, 'last', int(notice))
drop_old(room)
set_expiry(room)
return {'ok'}
