-- Tells what became of a message.
-- KEYS: see mailbox.lua
-- ARGV[1] id
-- Returns {'ok', state}: 'unread', 'read', 'dropped', 'notsent', or 'gone': read
--         or dropped, too long ago to know
--         or a refusal of mailbox.lua

local box, refusal = open()
if not box then return refusal end
local id = ARGV[1]
if box.big > 0 and redis.call('ZCOUNT', KEYS[4], id, id) > 0 or #redis.call('XRANGE', KEYS[2], id, id, 'COUNT', 1) > 0 then
  return {'ok', 'unread'}
end
if redis.call('ZSCORE', KEYS[3], id) then return {'ok', 'dropped'} end
local number = tonumber(id)
if number == 0 or number > box.last then return {'ok', 'notsent'} end
return {'ok', number <= box.forgotten and 'gone' or 'read'}
