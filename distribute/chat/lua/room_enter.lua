-- Lets somebody in, and forgets some of those whose presence ended.
-- KEYS, ARGV[1] id, ARGV[2] key: see room.lua
-- ARGV[3] nickname, or ''  ARGV[4] token, new for every entering
-- Returns {'ok'}: inside, by this call or by an earlier one with this token
--         {'taken'}: somebody with this id is inside
--         {'full'}
--         or a refusal of room.lua

local room, refusal = open()
if not room then return refusal end
if present(room, ARGV[1]) then
  local mine = string.match(redis.call('HGET', KEYS[4], ARGV[1]) or '', '^%w+') == ARGV[4]
  return {mine and 'ok' or 'taken'}
end
local past = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(room.now), 'LIMIT', 0, step)
if #past > 0 then
  redis.call('ZREM', KEYS[3], unpack(past))
  redis.call('HDEL', KEYS[4], unpack(past))
end
if room.max > 0 and redis.call('ZCOUNT', KEYS[3], '(' .. text(room.now), '+inf') >= room.max then
  return {'full'}
end
redis.call('HSET', KEYS[4], ARGV[1], ARGV[4] .. ' ' .. ARGV[3])
stay(room)
bind(room)
return {'ok'}
