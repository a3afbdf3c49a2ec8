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
local now = clock_ms()
local here = now + ms
redis.call('HSET', HASH, 'v', '1', 'last', int(chat.last), 'here' .. caller, int(here))
local expires = now + redis.call('PTTL', HASH) -- in the past if it does not expire
if chat.at == 0 and expires < here then
  -- Without messages the hash expires with the presence, but not before the last id
  -- of a deleted conversation.
  redis.call('PEXPIREAT', HASH, int(math.max(here, chat['here' .. peer])))
end
return {'ok'}
