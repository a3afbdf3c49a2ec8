-- Declarations shared by all scripts of a mailbox.
-- KEYS: HASH of the box  LOG (stream): unread messages
-- DROPPED: ids of messages that were dropped unread (sorted set, by id)
-- BIG: unread messages with a big body, 'id-bytes' (sorted set, by id)
-- Refusals: those of log.lua
--
-- The scripts read no big bodies, because Redis copies all that a script reads: 3 ms
-- for 1 MiB. So the size of a big message is stored in BIG, and every small message
-- counts as 1,024 bytes.
-- @include log

local small = 1024 -- max bytes of a small body
local step = 50 -- messages that one call drops at most
local max_dropped = 1000 -- ids in DROPPED

-- positive returns a stored number, or the default if it is not above zero.
local function positive(value, default)
  local n = whole(value or '')
  return n > 0 and n or default
end

-- open returns the box, or nil and the refusal to return. A box that does not exist
-- yet is an empty one with known = false.
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
  if unread == 0 and big > 0 then -- the log was emptied by hand
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

-- size returns the number of unread bytes. box.held is that of the big messages.
local function size(box) return math.max(box.unread - box.big, 0) * small + box.held end

-- extend starts the idle time of the box again.
local function extend(box)
  if box.idle == 0 then return end
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, int(box.idle)) end
end

-- note_last stores the id of the last message, and creates the box if it does not
-- exist.
local function note_last(box, last)
  redis.call('HSET', HASH, 'last', int(last))
  if box.known then return end
  local t = redis.call('TIME')
  redis.call('HSET', HASH, 'v', '1', 'born', int(t[1] * 1000000 + t[2]))
  box.known = true
end

-- visit records a visit of the receiver, unless the box does not exist.
local function visit(box)
  if not box.known then return end
  redis.pcall('HSET', HASH, 'seen', int(clock_ms())) -- a full Redis can be read, too
  extend(box)
end

-- remove removes a message from the log, and reports whether it was there. id is a
-- string, because the number of an entry added by hand may be too large for Lua.
local function remove(box, id)
  local gone = redis.call('XDEL', LOG, id .. '-0')
  if gone == 0 then -- the id of an entry added by hand may not end in -0
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

-- record_removal stores the counts that remove changed. For an empty log it also
-- deletes BIG, which a log emptied by hand leaves behind.
local function record_removal(box)
  if not box.known then return end
  if box.unread == 0 then
    redis.call('DEL', BIG)
    box.big, box.held = 0, 0
  end
  redis.call('HSET', HASH, 'held', int(box.held))
end

-- oldest returns the id of the oldest unread message as a string, or nil.
local function oldest(box)
  local to = '+'
  local first = box.big > 0 and redis.call('ZRANGE', BIG, 0, 0)[1]
  first = first and string.match(first, '^%d+')
  if first then to = int(tonumber(first) - 1) end
  local entry = redis.call('XRANGE', LOG, '-', to, 'COUNT', 1)[1]
  return entry and string.match(entry[1], '^%d+') or first
end

-- drop drops the oldest messages while exceeded() returns true, at most step of
-- them, and adds their ids to DROPPED. It returns 1 if the next call has more to
-- drop, or else 0.
local function drop(box, exceeded)
  local dropped = 0
  while dropped < step and exceeded() do
    local id = oldest(box)
    if not id then break end
    local big = box.big
    if remove(box, id) then
      redis.call('ZADD', DROPPED, id, id)
    elseif box.big == big then -- BIG has an id that the log does not have
      redis.call('DEL', BIG)
      box.big, box.held = 0, 0
    end
    dropped = dropped + 1
  end
  if dropped == 0 then return 0 end
  local old = redis.call('ZCARD', DROPPED) - max_dropped
  if old > 0 then
    box.forgotten = whole(redis.call('ZRANGE', DROPPED, old - 1, old - 1)[1])
    redis.call('ZREMRANGEBYRANK', DROPPED, 0, old - 1)
    if box.known then redis.call('HSET', HASH, 'forgotten', int(box.forgotten)) end
  end
  record_removal(box)
  extend(box) -- this call may have created DROPPED
  return box.unread > 0 and exceeded() and 1 or 0
end
