-- Put before every script of a mailbox, after values.lua and log.lua.
-- KEYS[1] the box (hash)  KEYS[2] its log (stream): what is unread
-- KEYS[3] ids that were dropped unread (sorted set, by id)
-- KEYS[4] unread messages with a big body, 'id-bytes' (sorted set, by id)
-- Every answer is a list that starts with a word. These words mean a refusal:
--   {'newer', version}           a newer release wrote the box
--   {'corrupt', field, value}    a field of the hash is not what we write there
--
-- No body is read here but the small ones, because a script copies all that it
-- reads: 3 ms for 1 MiB. So a big message is listed with its size, and a small
-- one counts as many bytes as the biggest of them has.

local small = 1024 -- bytes
local step = 50 -- messages that one call drops
local remembered = 1000 -- ids of dropped messages

local function positive(value, default)
  local n = whole(value or '')
  return n > 0 and n or default
end

-- Reads the box, or gives nil and the refusal to answer. A box that nobody has
-- sent to is one with nothing in it, not known.
local function open()
  local f = redis.call('HMGET', KEYS[1], 'v', 'last', 'born', 'seen', 'messages', 'bytes', 'full', 'idle', 'forgotten', 'held')
  local known = f[1] or redis.call('EXISTS', KEYS[1]) == 1
  if not known then f[1], f[2] = '1', '0' end
  local v = tonumber(f[1] or '')
  if v and v > 1 then return nil, {'newer', f[1]} end
  if v ~= 1 then return nil, {'corrupt', 'v', f[1] or ''} end
  local last = tonumber(f[2] or '')
  if not last or last ~= whole(last) then return nil, {'corrupt', 'last', f[2] or ''} end
  local seen = positive(f[4], nil)
  local unread, big, held = redis.call('XLEN', KEYS[2]), redis.call('ZCARD', KEYS[4]), whole(f[10] or '')
  if unread == 0 and big > 0 then -- somebody emptied the log by hand
    redis.call('DEL', KEYS[4])
    big = 0
  end
  if big == 0 then held = 0 end
  return {
    known = known, last = last, born = f[3] or '', seen = seen and text(seen) or '',
    messages = positive(f[5], 10000), bytes = positive(f[6], 67108864), -- as in mailbox_limits.go
    full = f[7] == 'drop-oldest' and f[7] or 'refuse', idle = whole(f[8] or ''),
    forgotten = whole(f[9] or ''), held = held, unread = unread, big = big,
  }
end

-- Bytes of what is unread: held is the sum of the big ones.
local function size(box) return math.max(box.unread - box.big, 0) * small + box.held end

-- Makes the box live on for its idle time.
local function extend(box)
  if box.idle == 0 then return end
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, text(box.idle)) end
end

-- Notes that the receiver is here. It leaves no trace where nobody has sent to.
local function visit(box)
  if not box.known then return end
  redis.pcall('HSET', KEYS[1], 'seen', text(now())) -- a full Redis can be read, too
  extend(box)
end

-- Takes a message out of the log, and tells whether it was there. id is a text:
-- that of an entry added by hand may be beyond the exact numbers.
local function remove(box, id)
  local gone = redis.call('XDEL', KEYS[2], id .. '-0')
  if gone == 0 then -- an entry added by hand may have another end
    local other = redis.call('XRANGE', KEYS[2], id, id, 'COUNT', 1)[1]
    gone = other and redis.call('XDEL', KEYS[2], other[1]) or 0
  end
  box.unread = box.unread - gone
  if box.big > 0 then
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], id, id)) do
      redis.call('ZREM', KEYS[4], entry)
      box.big = box.big - 1
      box.held = math.max(box.held - whole(string.match(entry, '%d+$')), 0)
    end
  end
  return gone > 0
end

-- Writes down what remove changed. A list of big ones that somebody left behind
-- by emptying the log is forgotten here.
local function removed(box)
  if not box.known then return end
  if box.unread == 0 then
    redis.call('DEL', KEYS[4])
    box.big, box.held = 0, 0
  end
  redis.call('HSET', KEYS[1], 'held', text(box.held))
end

-- Gives the id of the oldest unread message, as a text, or nil.
local function oldest(box)
  local to = '+'
  local first = box.big > 0 and redis.call('ZRANGE', KEYS[4], 0, 0)[1]
  first = first and string.match(first, '^%d+')
  if first then to = text(tonumber(first) - 1) end
  local entry = redis.call('XRANGE', KEYS[2], '-', to, 'COUNT', 1)[1]
  return entry and string.match(entry[1], '^%d+') or first
end

-- Drops the oldest messages while over() says so, at most step of them, and
-- notes that they were. Answers 1 when there is more to drop, for the next call.
local function drop(box, over)
  local dropped = 0
  while dropped < step and over() do
    local id = oldest(box)
    if not id then break end
    local big = box.big
    if remove(box, id) then
      redis.call('ZADD', KEYS[3], id, id)
    elseif box.big == big then -- a list of big ones that is not ours leads nowhere
      redis.call('DEL', KEYS[4])
      box.big, box.held = 0, 0
    end
    dropped = dropped + 1
  end
  if dropped == 0 then return 0 end
  local old = redis.call('ZCARD', KEYS[3]) - remembered
  if old > 0 then
    box.forgotten = whole(redis.call('ZRANGE', KEYS[3], old - 1, old - 1)[1])
    redis.call('ZREMRANGEBYRANK', KEYS[3], 0, old - 1)
    if box.known then redis.call('HSET', KEYS[1], 'forgotten', text(box.forgotten)) end
  end
  removed(box)
  extend(box) -- the list of the dropped may be new
  return box.unread > 0 and over() and 1 or 0
end
