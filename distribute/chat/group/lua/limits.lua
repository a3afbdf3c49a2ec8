-- Finds the messages and drops the members that exceed the limits of a chat.
-- Limits are stored as 'messages bytes age away', the last two in ms; 0 means no
-- limit.
-- @include log

local max_probed = 65536 -- bytes that one call reads after the first entry
local max_foreign = 16 -- entries without size and time that probe reads in a row
local max_members = 100 -- members that one call drops
local grace_ms = 60000 -- time that members have if all of them were away for too long

-- probe reads the first message from an id on. It returns the number of bytes of
-- all messages before it, the time it was sent, and the number of bytes that probe
-- read. After the last message it returns infinity, which exceeds no limit. After
-- max_foreign entries added by hand it returns the lowest values, which exceed every
-- limit, so that such entries are dropped too.
local function probe(id)
  local bytes, timed = 0, nil
  for _ = 1, max_foreign do
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
  -- An earlier release stored only the time.
  return timed and 0 or -1, timed or -1, bytes
end

-- probe_oldest returns what probe does for the oldest message. The values of a big
-- message are stored in the hash, so that not every call copies the message.
local function probe_oldest(chat)
  local id, before, time = string.match(chat.first or '', '^(%d+) (%d+) (%d+)$')
  if id and tonumber(id) == chat.oldest then return whole(before), whole(time), 0 end
  local bytes
  before, time, bytes = probe(chat.oldest)
  if bytes > 16384 and time >= 0 and time < math.huge then
    -- A full Redis can be read, too: then the next call reads the message again.
    redis.pcall('HSET', HASH, 'first', int(chat.oldest) .. ' ' .. int(before) .. ' ' .. int(time))
  end
  return before, time, bytes
end

-- first_allowed returns the id of the oldest message that exceeds no limit. If one
-- call may not read enough to find it, it returns the highest id that it has found
-- so far, and sets chat.more.
local function first_allowed(chat)
  local low = chat.oldest
  local count = chat.limits.messages > 0 and redis.call('XLEN', LOG) or 0
  local over = count - chat.limits.messages
  if over > 0 and count <= chat.last - chat.oldest then
    -- Ids have gaps, because entries were added or deleted by hand, so the
    -- message to keep can't be computed from its number.
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
  local min_before = chat.limits.bytes > 0 and chat.sent - chat.limits.bytes or 0
  local budget
  local function exceeds(id)
    local before, time, bytes
    if id == chat.oldest then
      before, time, bytes = probe_oldest(chat)
    else
      before, time, bytes = probe(id)
    end
    budget = budget and budget - bytes or max_probed
    return time < since or before < min_before and id < chat.last -- the newest is kept, whatever its size
  end
  if not exceeds(low) then return low end
  local high, ahead = low + 1, 1
  while budget > 0 and exceeds(high) do
    low, ahead = high, 2 * ahead
    high = low + ahead
  end
  while budget > 0 and high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if exceeds(middle) then low = middle else high = middle end
  end
  chat.more = chat.more or budget <= 0
  return low + 1
end

-- grace reports whether no member may be dropped now. If the last visits of all
-- members are before long_ago, Redis may have been down, or its clock may have jumped.
-- Then no member is dropped for grace_ms. If none of them visits the chat meanwhile,
-- it is abandoned, and the next call drops them.
local function grace(chat, long_ago)
  local now, start = clock_ms(), chat.grace - grace_ms
  local begun = start <= now -- else the clock went back
  if begun and now < chat.grace then return true end
  if redis.call('ZCOUNT', SEEN, '-inf', long_ago) < redis.call('ZCARD', CURSORS) then return false end
  local latest = whole(redis.call('ZRANGE', SEEN, -1, -1, 'WITHSCORES')[2])
  if begun and latest < start then return false end
  chat.grace = now + grace_ms
  redis.call('HDEL', HASH, '') -- a write, so that a full Redis accepts HSET
  redis.call('HSET', HASH, 'grace', int(chat.grace))
  return true
end

-- drop_away removes members whose last visit is too long ago, and sets chat.more if
-- it removed as many as one call may.
local function drop_away(chat)
  if chat.limits.away == 0 then return end
  -- An earlier release did not record visits. Record one for the members with the
  -- lowest cursors first, because messages are kept for them.
  if redis.call('ZCARD', SEEN) < redis.call('ZCARD', CURSORS) then
    local visits = {}
    for _, member in ipairs(redis.call('ZRANGE', CURSORS, 0, max_members - 1)) do
      visits[#visits + 1], visits[#visits + 2] = int(clock_ms()), member
    end
    redis.pcall('ZADD', SEEN, 'NX', unpack(visits)) -- a full Redis can be read, too
  end
  local long_ago = int(clock_ms() - chat.limits.away)
  local away = redis.call('ZRANGEBYSCORE', SEEN, '-inf', long_ago, 'LIMIT', 0, max_members)
  if #away == 0 or grace(chat, long_ago) then return end
  redis.call('ZREM', CURSORS, unpack(away))
  redis.call('ZREM', SEEN, unpack(away))
  chat.more = #away == max_members
end

-- parse_limits returns the limits of a stored value: nil for no limits, false for an
-- invalid value.
local function parse_limits(value)
  if not value then return nil end
  local messages, bytes, age, away = string.match(value, '^(%d+) (%d+) (%d+) (%d+)$')
  if not messages then return false end
  return {messages = whole(messages), bytes = whole(bytes), age = whole(age), away = whole(away)}
end
