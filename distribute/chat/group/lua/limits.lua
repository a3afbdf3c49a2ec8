-- Which messages, and which members, the limits of a chat let go. Limits are
-- noted as 'messages bytes age away', the last two in ms; 0 is no limit.
-- @include log

local probed = 65536 -- bytes that one call reads to find out, beyond the first entry
local passed = 16 -- entries in a row that tell nothing, until they are let go
local dropped = 100 -- members that one call drops

-- Returns of the first entry from an id on: the bytes of all messages before it,
-- and when it was sent; also what was read to know. After the last one that is
-- infinitely much, which no limit lets go, and after too many foreign entries
-- the least, so that they are in nobody's way for ever.
local function standing(id)
  local bytes, timed = 0, nil
  for _ = 1, passed do
    local entry = redis.call('XRANGE', LOG, int(id), '+', 'COUNT', 1)[1]
    if not entry then return math.huge, math.huge, bytes end
    local values = fields_of(entry[2])
    for _, text in ipairs(entry[2]) do bytes = bytes + #text end
    if tonumber(values.before) and tonumber(values.time) then
      return whole(values.before), whole(values.time), bytes
    end
    timed = timed or tonumber(values.time) and whole(values.time)
    id = number(entry) + 1
  end
  -- An earlier release noted the time only.
  return timed and 0 or -1, timed or -1, bytes
end

-- standing of the oldest message. When it is a big one that is noted, so that not
-- every call copies it.
local function first_standing(chat)
  local id, before, time = string.match(chat.first or '', '^(%d+) (%d+) (%d+)$')
  if id and tonumber(id) == chat.oldest then return whole(before), whole(time), 0 end
  local bytes
  before, time, bytes = standing(chat.oldest)
  if bytes > 16384 and time >= 0 and time < math.huge then
    redis.call('HSET', HASH, 'first', int(chat.oldest) .. ' ' .. int(before) .. ' ' .. int(time))
  end
  return before, time, bytes
end

-- The id of the oldest message that no limit lets go. When that would take more
-- reading than one call may do, it is one on the way there, and chat.more is set.
local function floor(chat)
  local low = chat.oldest
  local count = chat.limits.messages > 0 and redis.call('XLEN', LOG) or 0
  local over = count - chat.limits.messages
  if over > 0 and count <= chat.last - chat.oldest then
    -- There is a gap, which entries added or deleted by hand leave: ids don't tell.
    redis.call('XTRIM', LOG, 'MAXLEN', int(count - math.min(over, 500)))
    chat.more = chat.more or over > 500
    low = whole(number(redis.call('XRANGE', LOG, '-', '+', 'COUNT', 1)[1]))
    chat.oldest = math.min(low, chat.last + 1)
    redis.call('HSET', HASH, 'oldest', int(chat.oldest))
  elseif over > 0 then
    low = math.max(low, math.min(low + over, chat.last))
  end
  if chat.limits.bytes == 0 and chat.limits.age == 0 then return low end
  local since = chat.limits.age > 0 and clock_ms() - chat.limits.age or 0
  local enough = chat.limits.bytes > 0 and chat.sent - chat.limits.bytes or 0
  local budget
  local function let_go(id)
    local before, time, bytes
    if id == chat.oldest then
      before, time, bytes = first_standing(chat)
    else
      before, time, bytes = standing(id)
    end
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
  -- Members of an earlier release are not noted yet. Those who read least are
  -- noted first: it is they who hold messages back.
  if redis.call('ZCARD', SEEN) < redis.call('ZCARD', CURSORS) then
    local note = {}
    for _, member in ipairs(redis.call('ZRANGE', CURSORS, 0, dropped - 1)) do
      note[#note + 1], note[#note + 2] = int(clock_ms()), member
    end
    redis.call('ZADD', SEEN, 'NX', unpack(note))
  end
  local long_ago = int(clock_ms() - chat.limits.away)
  local away = redis.call('ZRANGEBYSCORE', SEEN, '-inf', long_ago, 'LIMIT', 0, dropped)
  if #away == 0 then return end
  redis.call('ZREM', CURSORS, unpack(away))
  redis.call('ZREM', SEEN, unpack(away))
  chat.more = #away == dropped
end

-- Limits as they are noted, nil for none, or false for what they can't be.
local function parse_limits(value)
  if not value then return nil end
  local messages, bytes, age, away = string.match(value, '^(%d+) (%d+) (%d+) (%d+)$')
  if not messages then return false end
  return {messages = whole(messages), bytes = whole(bytes), age = whole(age), away = whole(away)}
end
