-- Lets somebody out.
-- KEYS, ARGV[1] id, ARGV[2] key: see room.lua
-- Returns {'ok'}: not inside any more, or never was
--         or a refusal of room.lua

local room, refusal = open()
if not room then return refusal end
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
return {'ok'}
