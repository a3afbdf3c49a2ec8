-- Says that somebody is here.
-- KEYS: see conversation.lua
-- ARGV[1] who  ARGV[2] for how many ms; 0: not any more
-- Returns {'ok'}, or a refusal of conversation.lua; not 'nochat'

local chat, refusal = open()
if refusal and refusal[1] ~= 'nochat' then return refusal end
local ms = tonumber(ARGV[2])
if ms == 0 then
  if chat then redis.call('HDEL', KEYS[1], 'here' .. me) end
  return {'ok'}
end
local here = now() + ms
chat = chat or none()
redis.call('HSET', KEYS[1], 'v', '1', 'last', text(chat.last), 'here' .. me, text(here))
if chat.at == 0 then -- where nothing was ever said nothing has to stay
  redis.call('PEXPIREAT', KEYS[1], text(math.max(here, chat['here' .. peer])))
end
return {'ok'}
