-- Appends a message under the next id, and drops old messages.
-- ARGV[1] the sender, '1' or '2'  ARGV[2] the time in ms, from the reply
-- 'unlisted', before both people's lists were written; 0: they were not written
-- ARGV[3] number of messages to keep  ARGV[4] max unread messages of a person
-- ARGV[5] sender  ARGV[6] body  ARGV[7] type, or ''  ARGV[8] URL, or ''
-- Returns {'ok', 'sent', id, notify}: notify is 0 if the receiver is present
--         {'ok', 'unlisted', now}: write the lists, and call again
--         {'ok', 'full', n}: the receiver has n unread messages
--         {'ok', 'unread', n}: the log keeps n messages because the sender has
--         unread ones
--         or a refusal of conversation.lua; not 'nochat'
-- @include conversation

local step = 500        -- entries that one call drops
local fresh_ms = 30000  -- a new entry of a list is not dropped for longer than this
local repeat_ms = 60000 -- a read can be repeated for this time

-- clean drops the oldest messages of more than keep, but none that a person has
-- not read or that a repeated read may return.
local function clean(chat, keep)
  local over = redis.call('XLEN', LOG) - keep
  if over <= 0 then return end
  local low = math.min(chat.cursor1, chat.cursor2)
  for _, reads in ipairs(redis.call('HMGET', HASH, 'reads1', 'reads2')) do
    for _, from, _, _, at in string.gmatch(reads or '', read_pattern) do
      if tonumber(at) > clock_ms() - repeat_ms then low = math.min(low, tonumber(from)) end
    end
  end
  local oldest = math.max(chat.oldest, 1)
  if oldest > low then return end
  local first = math.min(low + 1, oldest + math.min(over, step))
  redis.call('HSET', HASH, 'oldest', int(trim(first, low + 1)))
end

local chat, refusal = open_any()
if not chat then return refusal end
if chat.listed ~= 1 and clock_ms() - tonumber(ARGV[2]) > fresh_ms then return {'ok', 'unlisted', int(clock_ms())} end
local keep, max_unread = tonumber(ARGV[3]), tonumber(ARGV[4])
if unread_by_peer(chat) >= max_unread then return {'ok', 'full', int(unread_by_peer(chat))} end
-- A sender's messages after one that the sender has not read are kept even if the
-- receiver has read them. Without this limit a sender that never reads could
-- fill the log.
local caught_up = unread(chat) == 0
local kept = caught_up and 0 or redis.call('XLEN', LOG)
if kept >= keep + max_unread then return {'ok', 'unread', int(kept)} end

chat['sent' .. caller] = chat['sent' .. caller] + 1
local list = fields(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
local at = list[6]
for _, count in ipairs({'sent1', 'sent2'}) do
  list[#list + 1] = count
  list[#list + 1] = int(chat[count])
end
local id, failure = append(chat.last, list)
if not id then return failure end
if caught_up then chat['cursor' .. caller] = id end
redis.call('HSET', HASH, 'v', '1', 'listed', '1', 'last', int(id), 'at', at,
  'sent' .. caller, int(chat['sent' .. caller]), 'cursor' .. caller, int(chat['cursor' .. caller]))
if chat.at == 0 then redis.call('PERSIST', HASH) end -- a hash without messages expires
clean(chat, keep)
return {'ok', 'sent', int(id), chat['here' .. peer] > clock_ms() and 0 or 1}
