-- Changes the limits of a chat, and enforces them.
-- ARGV[1] limits in the format of limits.lua, or '' for none
-- Returns {'ok', more}
-- @include opened_chat

if ARGV[1] == '' then
  redis.call('HDEL', HASH, 'limits')
  return {'ok', 0}
end
redis.call('HSET', HASH, 'limits', ARGV[1])
chat.limits = parse_limits(ARGV[1])
drop_away(chat)
if ended(chat) then return {'ok', 0} end
return {'ok', enforce(chat)}
