-- Mutes a person, or ends a mute, and deletes up to step expired mutes.
-- ARGV[3] id of the person  ARGV[4] duration in ms; '0': without end, '': unmute
-- Returns {'ok'}
--         {'notinroom'}, {'notallowed'}, {'muted', until}
--         {'full'}: the room has the max number of mutes
-- @include opened_room

local permitted, denial = allowed(room)
if not permitted then return denial end
local expired = redis.call('ZRANGEBYSCORE', MUTES, '-inf', int(room.now), 'LIMIT', 0, step)
if #expired > 0 then redis.call('ZREM', MUTES, unpack(expired)) end
if ARGV[4] == '' then
  redis.call('ZREM', MUTES, ARGV[3])
  return {'ok'}
end
if redis.call('ZCARD', MUTES) >= 10000 and not redis.call('ZSCORE', MUTES, ARGV[3]) then return {'full'} end
redis.call('ZADD', MUTES, int(ARGV[4] == '0' and exact or room.now + tonumber(ARGV[4])), ARGV[3])
set_expiry(room)
return {'ok'}
