-- Changes the limits of a chat, and enforces them.
-- ARGV[1] limits in the format of limits.lua, or '' for none
-- ARGV[2] the limits that are replaced, in the same format; or none: any limits
-- Returns {'ok', more, set}: set is 0 if other limits hold, and nothing is changed
-- @include opened_chat when_full

local limits, expected = unpack(ARGV)
local before = redis.call('HGET', HASH, 'limits') or ''
if expected and before ~= expected and before ~= limits then return {'ok', 0, 0} end
if limits == '' then
  redis.call('HDEL', HASH, 'limits')
  return {'ok', 0, 1}
end
redis.call('HSET', HASH, 'limits', limits)
chat.limits = parse_limits(limits)
drop_away(chat)
if ended(chat) then return {'ok', 0, 1} end
return {'ok', enforce(chat), 1}
