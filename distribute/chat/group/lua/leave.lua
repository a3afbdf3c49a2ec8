-- Ends a membership, and with the last one a chat between people.
-- ARGV[1] member
-- Returns {'ok', more}: no member any more, or never was one
--         or a refusal of group.lua; 'nochat' is also the answer to a repeated
--         call of the last member
-- @include opened_chat

redis.call('ZREM', CURSORS, ARGV[1])
redis.call('ZREM', SEEN, ARGV[1])
if ended(chat) then return {'ok', 0} end
return {'ok', clean(chat)}
