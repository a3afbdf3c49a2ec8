-- Mutes a person, or ends a mute, and deletes some expired mutes.
-- ARGV[3] whom  ARGV[4] for how many ms; '0': for good, '': no longer
-- Returns {'ok'}
--         {'notinroom'}, {'notallowed'}, {'muted', until}
--         {'full'}: more are muted than a room remembers
-- @include opened_room

local may, why = allowed(room)
if not may then return why end
local past = redis.call('ZRANGEBYSCORE', MUTES, '-inf', int(room.now), 'LIMIT', 0, step)
if #past > 0 then redis.call('ZREM', MUTES, unpack(past)) end
if ARGV[4] == '' then
  redis.call('ZREM', MUTES, ARGV[3])
  return {'ok'}
end
if redis.call('ZCARD', MUTES) >= 10000 and not redis.call('ZSCORE', MUTES, ARGV[3]) then return {'full'} end
redis.call('ZADD', MUTES, int(ARGV[4] == '0' and exact or room.now + tonumber(ARGV[4])), ARGV[3])
bind(room)
return {'ok'}
