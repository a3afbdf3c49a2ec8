-- Ends a membership, and with the last one a chat between people.
-- KEYS: see group.lua
-- ARGV[1] member
-- Returns {'ok', more}: no member any more, or never was one; more is 1 when
--         there is more to clean: call again
--         or a refusal of group.lua; 'nochat' is also the answer to a repeated
--         call of the last member

local chat, refusal = open()
if not chat then return refusal end
redis.call('ZREM', KEYS[3], ARGV[1])
if chat.kind == 'people' and redis.call('ZCARD', KEYS[3]) == 0 then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  return {'ok', 0}
end
return {'ok', clean(chat)}
