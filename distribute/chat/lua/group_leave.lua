-- Ends a membership, and with the last one a chat between people.
-- KEYS: see group.lua
-- ARGV[1] member
-- Returns {'ok', more}: no member any more, or never was one
--         or a refusal of group.lua; 'nochat' is also the answer to a repeated
--         call of the last member

local chat, refusal = open()
if not chat then return refusal end
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
if ended(chat) then return {'ok', 0} end
return {'ok', clean(chat)}
