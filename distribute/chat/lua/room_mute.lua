-- Mutes somebody, or ends that, and forgets some mutes whose time has passed.
-- KEYS, ARGV[1] id, ARGV[2] key: see room.lua
-- ARGV[3] whom  ARGV[4] for how many ms; '0': for good, '': no longer
-- Returns {'ok'}
--         {'notinroom'}, {'notallowed'}, {'muted', until}
--         {'full'}: more are muted than a room remembers
--         or a refusal of room.lua

local room, refusal = open()
if not room then return refusal end
local may, why = allowed(room)
if not may then return why end
local past = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', text(room.now), 'LIMIT', 0, step)
if #past > 0 then redis.call('ZREM', KEYS[5], unpack(past)) end
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[5], ARGV[3])
  return {'ok'}
end
if redis.call('ZCARD', KEYS[5]) >= 10000 and not redis.call('ZSCORE', KEYS[5], ARGV[3]) then return {'full'} end
redis.call('ZADD', KEYS[5], text(ARGV[4] == '0' and exact or room.now + tonumber(ARGV[4])), ARGV[3])
bind(room)
return {'ok'}
