-- What all scripts of a group chat share.
-- KEYS: HASH of the chat  LOG (stream)  CURSORS of its members (sorted set)
-- SEEN: when each member was last here (sorted set)
-- Refusals: those of log.lua and {'nochat'}: there is no such chat
-- Other replies are {'ok', more, …}: more is 1 when there is more to delete than
-- one call may, '…' then is not yet what it will be: call again.
-- @include log
-- @include limits

local step = 500 -- entries that one call cleans away
local small = 16384 -- bytes of a body that a script may read: it is copied

local function delete() redis.call('UNLINK', unpack(KEYS)) end

-- Ends a chat between people that has no member any more.
local function ended(chat)
  if chat.kind ~= 'people' or redis.call('ZCARD', CURSORS) > 0 then return false end
  delete()
  return true
end

-- Returns the chat, or nil and the refusal to return, and drops members who
-- were away for too long. last is the id of the newest message, oldest that of
-- the oldest kept one, last + 1 if none is kept, big that of the newest one that
-- is not small, sent the bytes of all that were ever sent.
-- They are noted because an entry that is read here is copied whole: 3 ms for
-- a body of 1 MiB.
local function open()
  local f = redis.call('HMGET', HASH, 'v', 'kind', 'last', 'oldest', 'created', 'big', 'sent', 'limits', 'first')
  if not f[1] and redis.call('EXISTS', HASH) == 0 then return nil, {'nochat'} end
  local refusal = refused_format(f[1])
  if refusal then return nil, refusal end
  if f[2] ~= 'people' and f[2] ~= 'channel' then return nil, {'corrupt', 'kind', f[2] or ''} end
  local last = tonumber(f[3] or '')
  if not last or last ~= whole(last) then return nil, {'corrupt', 'last', f[3] or ''} end
  local limits = parse_limits(f[8])
  if limits == false then return nil, {'corrupt', 'limits', f[8]} end
  local chat = {
    kind = f[2], last = last, oldest = math.min(whole(f[4] or ''), last + 1), created = f[5] or '0',
    big = whole(f[6] or ''), sent = whole(f[7] or ''), limits = limits, first = f[9],
  }
  if limits then
    drop_away(chat)
    if ended(chat) then return nil, {'nochat'} end
  end
  return chat
end

-- Gives a member's cursor, and notes that the member is here; nil for others.
local function enter(member)
  local cursor = redis.call('ZSCORE', CURSORS, member)
  if not cursor then return nil end
  local time = clock_ms()
  local seen = tonumber(redis.call('ZSCORE', SEEN, member) or '')
  if not seen or math.abs(time - seen) >= 1000 then
    redis.pcall('ZADD', SEEN, int(time), member) -- a full Redis can be read, too
  end
  return whole(cursor)
end

-- Drops what is older than the message keep, at most step entries of it. Answers
-- 1 when there is more, of this or of other limits, for the next call.
local function cut(chat, keep)
  local more = chat.more and 1 or 0
  if keep <= chat.oldest then return more end
  chat.oldest = trim(math.min(keep, chat.oldest + step), keep)
  redis.call('HSET', HASH, 'oldest', int(chat.oldest))
  return chat.oldest < keep and 1 or more
end

-- Drops what every member has dealt with, and what limits let go. Without a
-- member and limits all is kept. Answers as cut does.
local function clean(chat)
  local keep = chat.limits and floor(chat) or 0
  local low = redis.call('ZRANGE', CURSORS, 0, 0, 'WITHSCORES')[2]
  if low then keep = math.max(keep, whole(low) + 1) end
  return cut(chat, keep)
end

-- Drops what limits let go, and what all members who are left have dealt with if
-- some may have been dropped. Answers as cut does.
local function enforce(chat)
  if not chat.limits then return 0 end
  if chat.limits.away > 0 then return clean(chat) end
  return cut(chat, floor(chat))
end
