-- Put before group.lua: which messages, and which members, the limits of a chat
-- let go. Limits are noted as 'messages bytes age away', the last two in ms; 0
-- is no limit.
-- KEYS: see group.lua

local probed = 65536 -- bytes that one call reads to find out, beyond the first entry
local passed = 16 -- entries in a row that tell nothing, until they are let go
local dropped = 100 -- members that one call drops

-- What the first entry from an id on tells: the bytes of all messages before it,
-- and when it was sent; also what was read to know. After the last one that is
-- infinitely much, which no limit lets go, and after too many foreign entries
-- the least, so that they are in nobody's way for ever.
local function standing(id)
  local bytes = 0
  for _ = 1, passed do
    local entry = redis.call('XRANGE', KEYS[2], text(id), '+', 'COUNT', 1)[1]
    if not entry then return math.huge, math.huge, bytes end
    local values = {}
    for i = 1, #entry[2] - 1, 2 do
      values[entry[2][i]] = entry[2][i + 1]
      bytes = bytes + #entry[2][i] + #entry[2][i + 1]
    end
    if tonumber(values.before) and tonumber(values.time) then
      return whole(values.before), whole(values.time), bytes
    end
    id = number(entry) + 1
  end
  return -1, -1, bytes
end

-- The id of the oldest message that no limit lets go. When that would take more
-- reading than one call may do, it is one on the way there, and chat.more is set.
local function floor(chat)
  local low = chat.oldest
  if chat.limits.messages > 0 then
    low = math.max(low, math.min(low + redis.call('XLEN', KEYS[2]) - chat.limits.messages, chat.last))
  end
  if chat.limits.bytes == 0 and chat.limits.age == 0 then return low end
  local since = chat.limits.age > 0 and now() - chat.limits.age or 0
  local enough = chat.limits.bytes > 0 and chat.sent - chat.limits.bytes or 0
  local budget
  local function let_go(id)
    local before, time, bytes = standing(id)
    budget = budget and budget - bytes or probed
    return time < since or before < enough and id < chat.last -- the newest stays, however big
  end
  if not let_go(low) then return low end
  local high, ahead = low + 1, 1
  while budget > 0 and let_go(high) do
    low, ahead = high, 2 * ahead
    high = low + ahead
  end
  while budget > 0 and high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if let_go(middle) then low = middle else high = middle end
  end
  chat.more = chat.more or budget <= 0
  return low + 1
end

-- Ends the memberships of those who were not here for too long. chat.more is set
-- when there were as many as one call may drop.
local function drop_away(chat)
  if chat.limits.away == 0 then return end
  local long_ago = text(now() - chat.limits.away)
  local away = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', long_ago, 'LIMIT', 0, dropped)
  if #away == 0 then return end
  redis.call('ZREM', KEYS[3], unpack(away))
  redis.call('ZREM', KEYS[4], unpack(away))
  chat.more = #away == dropped
end

-- Limits as they are noted, nil for none, or false for what they can't be.
local function parse_limits(value)
  if not value then return nil end
  local messages, bytes, age, away = string.match(value, '^(%d+) (%d+) (%d+) (%d+)$')
  if not messages then return false end
  return {messages = whole(messages), bytes = whole(bytes), age = whole(age), away = whole(away)}
end
