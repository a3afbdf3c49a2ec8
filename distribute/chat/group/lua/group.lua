-- Declarations shared by all scripts of a group chat.
-- KEYS: HASH of the chat  LOG (stream)  CURSORS of its members (sorted set)
-- SEEN: last visit of each member in ms (sorted set)
-- Refusals: those of log.lua and {'nochat'}: the chat does not exist
-- Other replies are {'ok', more, …}: more is 1 if there is more to delete than one
-- call may delete. Then the rest of the reply is not final: call again.
-- @include log
-- @include limits

local step = 500 -- entries that one call drops at most
local small = 16384 -- max bytes of a small body: Redis copies all that a script reads

local function delete() redis.call('UNLINK', unpack(KEYS)) end

-- ended deletes a chat between people that has no members any more, and reports
-- whether it did.
local function ended(chat)
  if chat.kind ~= 'people' or redis.call('ZCARD', CURSORS) > 0 then return false end
  delete()
  return true
end

-- open drops members that were away for too long, and returns the chat, or nil and
-- the refusal to return. In the chat, last is the id of the newest message, oldest
-- that of the oldest kept message, last + 1 if none is kept, big that of the newest
-- message that is not small, sent the number of bytes ever sent. The hash has these
-- because reading an entry copies it: 3 ms for a body of 1 MiB.
local function open()
  local f = redis.call('HMGET', HASH, 'v', 'kind', 'last', 'oldest', 'created', 'big', 'sent', 'limits', 'first', 'grace')
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
    grace = whole(f[10] or ''),
  }
  if limits then
    drop_away(chat)
    if ended(chat) then return nil, {'nochat'} end
  end
  return chat
end

-- visit records a visit of a member, and returns the member's cursor. For a
-- non-member it returns nil.
local function visit(member)
  local cursor = redis.call('ZSCORE', CURSORS, member)
  if not cursor then return nil end
  local time = clock_ms()
  local seen = tonumber(redis.call('ZSCORE', SEEN, member) or '')
  if not seen or math.abs(time - seen) >= 1000 then
    redis.pcall('ZADD', SEEN, int(time), member) -- a full Redis can be read, too
  end
  return whole(cursor)
end

-- drop_before drops messages older than the message keep, at most step of them. It
-- returns 1 if the next call has more to drop, because of keep or of other limits,
-- or else 0.
local function drop_before(chat, keep)
  local more = chat.more and 1 or 0
  if keep <= chat.oldest then return more end
  chat.oldest = trim(math.min(keep, chat.oldest + step), keep)
  redis.call('HSET', HASH, 'oldest', int(chat.oldest))
  return chat.oldest < keep and 1 or more
end

-- first_unread returns the id of the first message that a member has not
-- acknowledged, or 0 if there are no members.
local function first_unread()
  local low = redis.call('ZRANGE', CURSORS, 0, 0, 'WITHSCORES')[2]
  return low and whole(low) + 1 or 0
end

-- clean drops messages that every member has acknowledged, or that exceed the
-- limits. A chat with neither members nor limits keeps all messages. It returns 1
-- or 0 as drop_before does.
local function clean(chat)
  local keep = chat.limits and first_allowed(chat) or 0
  return drop_before(chat, math.max(keep, first_unread()))
end

-- enforce drops messages that exceed the limits. If members may have been dropped,
-- it also drops messages that all remaining members have acknowledged. It returns 1
-- or 0 as drop_before does.
local function enforce(chat)
  if not chat.limits then return 0 end
  if chat.limits.away > 0 then return clean(chat) end
  return drop_before(chat, first_allowed(chat))
end
