-- Sets a person present, or ends that.
-- ARGV[1] who  ARGV[2] for how many ms; 0: not any more
-- Returns {'ok'}, or a refusal of conversation.lua; not 'nochat'
-- @include conversation

local chat, refusal = open_any()
if not chat then return refusal end
local ms = tonumber(ARGV[2])
if ms == 0 then
  redis.call('HDEL', HASH, 'here' .. me)
  return {'ok'}
end
local here = clock_ms() + ms
redis.call('HSET', HASH, 'v', '1', 'last', int(chat.last), 'here' .. me, int(here))
if chat.at == 0 then -- where nothing was ever said nothing has to stay
  redis.call('PEXPIREAT', HASH, int(math.max(here, chat['here' .. peer])))
end
return {'ok'}
