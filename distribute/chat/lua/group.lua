-- Put before every script of a group chat.
-- KEYS[1] the chat (hash)  KEYS[2] its log (stream)  KEYS[3] its cursors (sorted set)
-- Every answer is a list that starts with a word. These words mean a refusal:
--   {'nochat'}                   there is no such chat
--   {'newer', version}           a newer release wrote it
--   {'corrupt', field, value}    a field of the hash is not what we write there

local step = 500 -- entries that one call cleans away
local small = 16384 -- bytes of a body that a script may read: it is copied

-- Reads the chat, or gives nil and the refusal to answer. last is the id of the
-- newest message, oldest that of the oldest kept one, last + 1 if none is kept,
-- big that of the newest one that is not small.
-- They are noted because an entry that is read here is copied whole: 3 ms for
-- a body of 1 MiB.
local function open()
  local f = redis.call('HMGET', KEYS[1], 'v', 'kind', 'last', 'oldest', 'created', 'big')
  if not f[1] and redis.call('EXISTS', KEYS[1]) == 0 then return nil, {'nochat'} end
  local v = tonumber(f[1] or '')
  if v and v > 1 then return nil, {'newer', f[1]} end
  if v ~= 1 then return nil, {'corrupt', 'v', f[1] or ''} end
  if f[2] ~= 'people' and f[2] ~= 'channel' then return nil, {'corrupt', 'kind', f[2] or ''} end
  local last = tonumber(f[3] or '')
  if not last or last ~= whole(last) then return nil, {'corrupt', 'last', f[3] or ''} end
  local oldest = whole(f[4] or '')
  return {kind = f[2], last = last, oldest = math.min(oldest, last + 1), created = f[5] or '0', big = whole(f[6] or '')}
end

-- Goes on after entries that somebody added by hand.
local function adopt(chat)
  local id = newest(KEYS[2])
  if id > chat.last and id <= exact then
    chat.last = id
    redis.call('HSET', KEYS[1], 'last', text(id))
  end
end

-- Drops what every member has dealt with, at most step entries of it. Answers
-- 1 when there is more, for the next call. Without a member all is kept.
local function clean(chat)
  local low = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2]
  if not low then return 0 end
  low = whole(low)
  if chat.oldest > low then return 0 end
  local keep = math.min(low + 1, chat.oldest + step)
  if redis.call('XTRIM', KEYS[2], 'MINID', text(keep) .. '-0') == 0 and keep <= low then
    -- A gap, which entries added or deleted by hand leave: go on behind it.
    local first = redis.call('XRANGE', KEYS[2], '-', text(low), 'COUNT', 1)[1]
    keep = first and number(first) or low + 1
  end
  redis.call('HSET', KEYS[1], 'oldest', text(keep))
  return keep <= low and 1 or 0
end
