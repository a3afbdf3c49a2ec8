-- What all scripts of a mailbox share.
-- KEYS: HASH of the box  LOG (stream): what is unread
-- DROPPED: ids that were dropped unread (sorted set, by id)
-- BIG: unread messages with a big body, 'id-bytes' (sorted set, by id)
-- Refusals: those of log.lua
--
-- No body is read here but the small ones, because a script copies all that it
-- reads: 3 ms for 1 MiB. So a big message is listed with its size, and a small
-- one counts as many bytes as the biggest of them has.
-- @include log

local small = 1024 -- bytes
local step = 50 -- messages that one call drops
local remembered = 1000 -- ids of dropped messages

local function positive(value, default)
  local n = whole(value or '')
  return n > 0 and n or default
end

-- Returns the box, or nil and the refusal to return. A box that nobody has
-- sent to is one with nothing in it, not known.
local function open()
  local f = redis.call('HMGET', HASH, 'v', 'last', 'born', 'seen', 'messages', 'bytes', 'full', 'idle', 'forgotten', 'held')
  local known = f[1] or redis.call('EXISTS', HASH) == 1
  if not known then f[1], f[2] = '1', '0' end
  local refusal = refused_format(f[1])
  if refusal then return nil, refusal end
  local last = tonumber(f[2] or '')
  if not last or last ~= whole(last) then return nil, {'corrupt', 'last', f[2] or ''} end
  local seen = positive(f[4], nil)
  local unread, big, held = redis.call('XLEN', LOG), redis.call('ZCARD', BIG), whole(f[10] or '')
  if unread == 0 and big > 0 then -- somebody emptied the log by hand
    redis.call('DEL', BIG)
    big = 0
  end
  if big == 0 then held = 0 end
  return {
    known = known, last = last, born = f[3] or '', seen = seen and int(seen) or '',
    messages = positive(f[5], 10000), bytes = positive(f[6], 67108864), -- as in limits.go
    full = f[7] == 'drop-oldest' and f[7] or 'refuse', idle = whole(f[8] or ''),
    forgotten = whole(f[9] or ''), held = held, unread = unread, big = big,
  }
end

-- Bytes of what is unread: held is the sum of the big ones.
local function size(box) return math.max(box.unread - box.big, 0) * small + box.held end

-- Makes the box live on for its idle time.
local function extend(box)
  if box.idle == 0 then return end
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, int(box.idle)) end
end

-- Notes the id of the last message. The first one, or limits, make the box.
local function note_last(box, last)
  redis.call('HSET', HASH, 'last', int(last))
  if box.known then return end
  local t = redis.call('TIME')
  redis.call('HSET', HASH, 'v', '1', 'born', int(t[1] * 1000000 + t[2]))
  box.known = true
end

-- Records a visit of the receiver, unless the box does not exist.
local function visit(box)
  if not box.known then return end
  redis.pcall('HSET', HASH, 'seen', int(clock_ms())) -- a full Redis can be read, too
  extend(box)
end

-- Removes a message from the log, and reports whether it was there. id is a text:
-- that of an entry added by hand may be beyond the exact numbers.
local function remove(box, id)
  local gone = redis.call('XDEL', LOG, id .. '-0')
  if gone == 0 then -- an entry added by hand may have another end
    local other = redis.call('XRANGE', LOG, id, id, 'COUNT', 1)[1]
    gone = other and redis.call('XDEL', LOG, other[1]) or 0
  end
  box.unread = box.unread - gone
  if box.big > 0 then
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', BIG, id, id)) do
      redis.call('ZREM', BIG, entry)
      box.big = box.big - 1
      box.held = math.max(box.held - whole(string.match(entry, '%d+$')), 0)
    end
  end
  return gone > 0
end

-- Writes down what remove changed. A list of large ones that was left behind
-- by emptying the log is forgotten here.
local function removed(box)
  if not box.known then return end
  if box.unread == 0 then
    redis.call('DEL', BIG)
    box.big, box.held = 0, 0
  end
  redis.call('HSET', HASH, 'held', int(box.held))
end

-- Gives the id of the oldest unread message, as a text, or nil.
local function oldest(box)
  local to = '+'
  local first = box.big > 0 and redis.call('ZRANGE', BIG, 0, 0)[1]
  first = first and string.match(first, '^%d+')
  if first then to = int(tonumber(first) - 1) end
  local entry = redis.call('XRANGE', LOG, '-', to, 'COUNT', 1)[1]
  return entry and string.match(entry[1], '^%d+') or first
end

-- Drops the oldest messages while over() is true, at most step of them, and
-- notes that they were. Answers 1 when there is more to drop, for the next call.
local function drop(box, over)
  local dropped = 0
  while dropped < step and over() do
    local id = oldest(box)
    if not id then break end
    local big = box.big
    if remove(box, id) then
      redis.call('ZADD', DROPPED, id, id)
    elseif box.big == big then -- a list of big ones that is not ours leads nowhere
      redis.call('DEL', BIG)
      box.big, box.held = 0, 0
    end
    dropped = dropped + 1
  end
  if dropped == 0 then return 0 end
  local old = redis.call('ZCARD', DROPPED) - remembered
  if old > 0 then
    box.forgotten = whole(redis.call('ZRANGE', DROPPED, old - 1, old - 1)[1])
    redis.call('ZREMRANGEBYRANK', DROPPED, 0, old - 1)
    if box.known then redis.call('HSET', HASH, 'forgotten', int(box.forgotten)) end
  end
  removed(box)
  extend(box) -- the list of the dropped may be new
  return box.unread > 0 and over() and 1 or 0
end
