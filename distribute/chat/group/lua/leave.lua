-- Removes a member. Without members a chat between people is deleted.
-- ARGV[1] member
-- Returns {'ok', more}: the person is not a member
--         or a refusal of group.lua; a repeated call of the last member also
--         returns 'nochat'
-- @include opened_chat

redis.call('ZREM', CURSORS, ARGV[1])
redis.call('ZREM', SEEN, ARGV[1])
if ended(chat) then return {'ok', 0} end
return {'ok', clean(chat)}
