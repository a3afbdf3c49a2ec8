-- Changes the limits of a chat, and makes it obey them.
-- KEYS: see group.lua
-- ARGV[1] limits as group_limits.lua notes them, or '' for none
-- Returns {'ok', more}, or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
if ARGV[1] == '' then
  redis.call('HDEL', KEYS[1], 'limits')
  return {'ok', 0}
end
redis.call('HSET', KEYS[1], 'limits', ARGV[1])
chat.limits = parse_limits(ARGV[1])
drop_away(chat)
if ended(chat) then return {'ok', 0} end
return {'ok', enforce(chat)}
