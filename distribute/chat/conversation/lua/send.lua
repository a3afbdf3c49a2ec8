-- Appends a message under the next id, and drops old ones.
-- ARGV[1] who sends  ARGV[2] when both people's lists were begun to be written,
-- in ms from 'unlisted'; 0: they were not
-- ARGV[3] how many messages to keep  ARGV[4] most unread messages of a person
-- ARGV[5] sender  ARGV[6] body  ARGV[7] type, or ''  ARGV[8] URL, or ''
-- Returns {'ok', 'sent', id, notify}: notify is 0 when the receiver is present
--         {'ok', 'unlisted', now}: write the lists, and call again
--         {'ok', 'full', n}: n messages wait for the receiver
--         {'ok', 'unread', n}: n messages are kept because of those that wait
--         for the sender
--         or a refusal of conversation.lua; not 'nochat'
-- @include conversation

local step = 500     -- entries that one call drops
local fresh = 30000  -- ms that an entry of a list is safe from being forgotten, and more
local again = 60000  -- ms in which a read may be repeated

-- Drops the oldest messages that both have read and no lost read can be asked
-- for again, when more than keep are there.
local function clean(chat, keep)
  local over = redis.call('XLEN', LOG) - keep
  if over <= 0 then return end
  local low = math.min(chat.cursor1, chat.cursor2)
  for _, reads in ipairs(redis.call('HMGET', HASH, 'reads1', 'reads2')) do
    for _, from, _, _, at in string.gmatch(reads or '', record) do
      if tonumber(at) > clock_ms() - again then low = math.min(low, tonumber(from)) end
    end
  end
  local oldest = math.max(chat.oldest, 1)
  if oldest > low then return end
  local first = math.min(low + 1, oldest + math.min(over, step))
  redis.call('HSET', HASH, 'oldest', int(trim(first, low + 1)))
end

local chat, refusal = open_any()
if not chat then return refusal end
if chat.listed ~= 1 and clock_ms() - tonumber(ARGV[2]) > fresh then return {'ok', 'unlisted', int(clock_ms())} end
local keep, most = tonumber(ARGV[3]), tonumber(ARGV[4])
if waiting(chat) >= most then return {'ok', 'full', int(waiting(chat))} end
-- Own messages behind an unread one are kept whoever has read them, so somebody
-- who never reads could send without end.
local caughtUp = unread(chat) == 0
local kept = caughtUp and 0 or redis.call('XLEN', LOG)
if kept >= keep + most then return {'ok', 'unread', int(kept)} end

chat['sent' .. me] = chat['sent' .. me] + 1
local list = fields(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
local at = list[6]
for _, count in ipairs({'sent1', 'sent2'}) do
  list[#list + 1] = count
  list[#list + 1] = int(chat[count])
end
local id, failure = append(chat.last, list)
if not id then return failure end
if caughtUp then chat['cursor' .. me] = id end
redis.call('HSET', HASH, 'v', '1', 'listed', '1', 'last', int(id), 'at', at,
  'sent' .. me, int(chat['sent' .. me]), 'cursor' .. me, int(chat['cursor' .. me]))
if chat.at == 0 then redis.call('PERSIST', HASH) end -- presence alone expires
clean(chat, keep)
return {'ok', 'sent', int(id), chat['here' .. peer] > clock_ms() and 0 or 1}
