-- Returns the state of a conversation.
-- ARGV[1] the reader, '1' or '2'  ARGV[2] 'any' to treat a pair without a
-- conversation as one without messages, instead of 'nochat'
-- Returns {'ok', unread, mark, total, at, here}: mark is the stream id after
--         which new messages appear; at is the time of the newest message, here
--         the end of the peer's presence, both in ms or 0
-- @include conversation

local chat, refusal = open_any()
if not chat then return refusal end
if chat.at == 0 and ARGV[2] ~= 'any' then return {'nochat'} end
-- The mark lies after foreign entries, or they would end every wait at once.
local mark = after(chat.last)
local foreign = redis.call('XREVRANGE', LOG, '+', '(' .. mark, 'COUNT', 1)[1]
local here = chat['here' .. peer]
return {'ok', int(unread(chat)), foreign and foreign[1] or mark, total(chat), int(chat.at),
  here > clock_ms() and int(here) or '0'}
