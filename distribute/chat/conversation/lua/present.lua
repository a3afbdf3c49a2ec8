-- Marks a person as present, or removes that mark.
-- ARGV[1] the person, '1' or '2'  ARGV[2] duration in ms; 0 removes the mark
-- Returns {'ok'}, or a refusal of conversation.lua; not 'nochat'
-- @include conversation

local chat, refusal = open_any()
if not chat then return refusal end
local ms = tonumber(ARGV[2])
if ms == 0 then
  redis.call('HDEL', HASH, 'here' .. caller)
  return {'ok'}
end
local here = clock_ms() + ms
redis.call('HSET', HASH, 'v', '1', 'last', int(chat.last), 'here' .. caller, int(here))
if chat.at == 0 then -- without messages the hash expires with the presence
  redis.call('PEXPIREAT', HASH, int(math.max(here, chat['here' .. peer])))
end
return {'ok'}
