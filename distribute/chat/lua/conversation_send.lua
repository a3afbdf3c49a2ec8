-- Appends a message under the next id, and drops old ones.
-- KEYS: see conversation.lua
-- ARGV[1] who sends  ARGV[2] when both people's lists were begun to be written,
-- in ms as 'unlisted' told; 0: they were not
-- ARGV[3] how many messages to keep  ARGV[4] most unread messages of a person
-- ARGV[5] sender  ARGV[6] body  ARGV[7] type, or ''  ARGV[8] URL, or ''
-- Returns {'ok', 'sent', id, notify}: notify is 0 when the receiver is present
--         {'ok', 'unlisted', now}: write the lists, and call again
--         {'ok', 'full', n}: n messages wait for the receiver
--         {'ok', 'unread', n}: n messages are kept because of those that wait
--         for the sender
--         or a refusal of conversation.lua; not 'nochat'

local step = 500     -- entries that one call drops
local fresh = 30000  -- ms that an entry of a list is safe from being forgotten, and more
local again = 60000  -- ms in which a read may be repeated

-- Drops the oldest messages that both have read and no lost read can be asked
-- for again, when more than keep are there.
local function clean(chat, keep)
  local over = redis.call('XLEN', KEYS[2]) - keep
  if over <= 0 then return end
  local low = math.min(chat.cursor1, chat.cursor2)
  for _, reads in ipairs(redis.call('HMGET', KEYS[1], 'reads1', 'reads2')) do
    for _, from, _, _, at in string.gmatch(reads or '', record) do
      if tonumber(at) > now() - again then low = math.min(low, tonumber(from)) end
    end
  end
  local oldest = math.max(chat.oldest, 1)
  if oldest > low then return end
  local first = math.min(low + 1, oldest + math.min(over, step))
  if redis.call('XTRIM', KEYS[2], 'MINID', text(first) .. '-0') == 0 and first <= low then
    -- A gap, which entries added or deleted by hand leave: go on behind it.
    local entry = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
    first = math.min(low + 1, entry and number(entry) or low + 1)
  end
  redis.call('HSET', KEYS[1], 'oldest', text(first))
end

local chat, refusal = open()
if refusal and refusal[1] ~= 'nochat' then return refusal end
chat = chat or none()
if chat.listed ~= 1 and now() - tonumber(ARGV[2]) > fresh then return {'ok', 'unlisted', text(now())} end
local keep, most = tonumber(ARGV[3]), tonumber(ARGV[4])
if waiting(chat) >= most then return {'ok', 'full', text(waiting(chat))} end
-- Own messages behind an unread one are kept whoever has read them, so somebody
-- who never reads could send without end.
local caughtUp = unread(chat) == 0
local kept = caughtUp and 0 or redis.call('XLEN', KEYS[2])
if kept >= keep + most then return {'ok', 'unread', text(kept)} end

chat['sent' .. me] = chat['sent' .. me] + 1
local list = fields(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
local at = list[6]
for _, count in ipairs({'sent1', 'sent2'}) do
  list[#list + 1] = count
  list[#list + 1] = text(chat[count])
end
local id, failure = append(KEYS[2], chat.last, list)
if not id then return failure end
if caughtUp then chat['cursor' .. me] = id end
redis.call('HSET', KEYS[1], 'v', '1', 'listed', '1', 'last', text(id), 'at', at,
  'sent' .. me, text(chat['sent' .. me]), 'cursor' .. me, text(chat['cursor' .. me]))
if chat.at == 0 then redis.call('PERSIST', KEYS[1]) end -- presence alone expires
clean(chat, keep)
return {'ok', 'sent', text(id), chat['here' .. peer] > now() and 0 or 1}
