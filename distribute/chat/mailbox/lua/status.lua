-- Returns the state of a message.
-- ARGV[1] id
-- Returns {'ok', state}: 'unread', 'read', 'dropped', 'notsent', or 'gone': read
--         or dropped, too long ago to distinguish
-- @include opened_box

local id = ARGV[1]
if box.big > 0 and redis.call('ZCOUNT', BIG, id, id) > 0 or #redis.call('XRANGE', LOG, id, id, 'COUNT', 1) > 0 then
  return {'ok', 'unread'}
end
if redis.call('ZSCORE', DROPPED, id) then return {'ok', 'dropped'} end
local n = tonumber(id)
if n == 0 or n > box.last then return {'ok', 'notsent'} end
return {'ok', n <= box.forgotten and 'gone' or 'read'}
