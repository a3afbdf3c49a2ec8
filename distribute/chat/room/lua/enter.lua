-- Adds a person to the room, and removes some whose presence has ended.
-- ARGV[3] nickname, or ''  ARGV[4] token, new for every entering
-- Returns {'ok'}: inside, by this call or by an earlier one with this token
--         {'taken'}: a person with this id is inside
--         {'full'}
-- @include opened_room

if present(room, ARGV[1]) then
  local mine = string.match(redis.call('HGET', NICKS, ARGV[1]) or '', '^%w+') == ARGV[4]
  return {mine and 'ok' or 'taken'}
end
local past = redis.call('ZRANGEBYSCORE', PEOPLE, '-inf', int(room.now), 'LIMIT', 0, step)
if #past > 0 then
  redis.call('ZREM', PEOPLE, unpack(past))
  redis.call('HDEL', NICKS, unpack(past))
end
if room.max > 0 and redis.call('ZCOUNT', PEOPLE, '(' .. int(room.now), '+inf') >= room.max then
  return {'full'}
end
redis.call('HSET', NICKS, ARGV[1], ARGV[4] .. ' ' .. ARGV[3])
stay(room)
bind(room)
return {'ok'}
