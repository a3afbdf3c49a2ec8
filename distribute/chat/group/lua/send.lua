-- Appends a message under the next id.
-- ARGV[1] sender  ARGV[2] body  ARGV[3] type, or ''  ARGV[4] URL, or ''
-- Returns {'ok', 0, id}
--         {'notmember'}: the chat is between people and the sender is not a member
-- @include opened_chat

local cursor = visit(ARGV[1])
if chat.kind == 'people' and not cursor then return {'notmember'} end

local list = fields(unpack(ARGV))
list[#list + 1], list[#list + 2] = 'before', int(chat.sent)
local id, failure = append(chat.last, list)
if not id then return failure end
chat.last, chat.sent = id, chat.sent + #ARGV[1] + #ARGV[2] + #ARGV[3] + #ARGV[4]
redis.call('HSET', HASH, 'last', int(id), 'sent', int(chat.sent))
if #ARGV[2] > small then redis.call('HSET', HASH, 'big', int(id)) end
enforce(chat)
-- The cursor of a sender without unread messages moves past the own message.
-- Otherwise all messages would be kept for a member that sends and never reads.
if cursor and math.max(cursor, chat.oldest - 1) >= id - 1 then
  redis.call('ZADD', CURSORS, int(id), ARGV[1])
  drop_before(chat, first_unread())
end
return {'ok', 0, int(id)}
