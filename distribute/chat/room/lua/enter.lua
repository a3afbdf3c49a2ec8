-- Adds a person to the room, and removes up to step people whose presence has
-- ended.
-- ARGV[3] nickname, or ''  ARGV[4] token, new for every entry into the room
-- Returns {'ok'}: inside, by this call or by an earlier one with this token
--         {'taken'}: a person with this id is inside
--         {'full'}
-- @include opened_room

if present(room, ARGV[1]) then
  local same_token = string.match(redis.call('HGET', NICKS, ARGV[1]) or '', '^%w+') == ARGV[4]
  return {same_token and 'ok' or 'taken'}
end
local expired = redis.call('ZRANGEBYSCORE', PEOPLE, '-inf', int(room.now), 'LIMIT', 0, step)
if #expired > 0 then
  redis.call('ZREM', PEOPLE, unpack(expired))
  redis.call('HDEL', NICKS, unpack(expired))
end
if room.max > 0 and redis.call('ZCOUNT', PEOPLE, '(' .. int(room.now), '+inf') >= room.max then
  return {'full'}
end
redis.call('HSET', NICKS, ARGV[1], ARGV[4] .. ' ' .. ARGV[3])
renew_presence(room)
set_expiry(room)
return {'ok'}
