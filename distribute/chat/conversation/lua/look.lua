-- Tells how a conversation stands.
-- ARGV[1] who looks  ARGV[2] 'any' if a pair of which nothing is known is one
-- without messages, instead of 'nochat'
-- Returns {'ok', unread, mark, total, at, here}: mark is the place in the log
--         behind which new messages come; at is the time of the newest
--         message, here until when the peer is present, both in ms or 0
-- @include conversation

local chat, refusal = open_any()
if not chat then return refusal end
if chat.at == 0 and ARGV[2] ~= 'any' then return {'nochat'} end
-- Foreign entries after our last one must not end every wait at once.
local mark = behind(chat.last)
local foreign = redis.call('XREVRANGE', LOG, '+', '(' .. mark, 'COUNT', 1)[1]
local here = chat['here' .. peer]
return {'ok', int(unread(chat)), foreign and foreign[1] or mark, total(chat), int(chat.at),
  here > clock_ms() and int(here) or '0'}
