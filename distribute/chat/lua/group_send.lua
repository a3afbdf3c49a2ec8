-- Appends a message under the next id.
-- KEYS: see group.lua
-- ARGV[1] sender  ARGV[2] body
-- Returns {'ok', id}
--         {'notmember'}: the chat is between people and the sender is not in it
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local cursor = redis.call('ZSCORE', KEYS[3], ARGV[1])
if chat.kind == 'people' and not cursor then return {'notmember'} end

local function append()
  if chat.last >= exact then return {'corrupt', 'last', text(chat.last)} end
  local answer = redis.pcall('XADD', KEYS[2], text(chat.last + 1) .. '-0',
    'sender', ARGV[1], 'body', ARGV[2], 'time', text(now()))
  return type(answer) == 'table' and answer
end
local failure = append()
if failure and failure.err then
  adopt(chat)
  failure = append()
end
if failure then return failure end
local id = chat.last + 1
redis.call('HSET', KEYS[1], 'last', text(id))
-- Who had nothing unread has read up to here: otherwise a member that only
-- talks would keep everything from being cleaned.
if cursor and whole(cursor) >= chat.last then
  redis.call('ZADD', KEYS[3], text(id), ARGV[1])
  clean(chat)
end
return {'ok', text(id)}
