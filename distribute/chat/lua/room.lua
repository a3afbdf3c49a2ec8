-- Put before every script of a room, after values.lua and log.lua.
-- KEYS[1] the room (hash)  KEYS[2] its log (stream)  KEYS[3] who is in it: id,
-- until when in ms (sorted set)  KEYS[4] id, token of the entering and nickname
-- (hash)  KEYS[5] who is muted: id, until when in ms (sorted set)
-- ARGV[1] id of who acts, '' for an operator
-- ARGV[2] the key that the password gives, '' without one
-- Every answer is a list that starts with a word. These words mean a refusal:
--   {'noroom'}                   there is no such room, or the key is wrong
--   {'newer', version}           a newer release wrote it
--   {'corrupt', field, value}    a field of the hash is not what we write there

local step = 500 -- entries that one call sweeps or trims
local small = 2048 -- bytes of a body: 64 of them are copied in a quarter of a millisecond
local numbers = {'dies', 'last', 'trimmed', 'big', 'ttl', 'presence', 'max', 'keep', 'created'}

-- Reads the room, or gives nil and the refusal to answer. last is the id of the
-- newest entry, trimmed of the newest that was dropped for keep, big of the
-- newest whose body is not small.
local function open()
  local f = redis.call('HMGET', KEYS[1], 'v', 'gone', 'digest', 'owner', unpack(numbers))
  if not f[1] and (f[2] or redis.call('EXISTS', KEYS[1]) == 0) then return nil, {'noroom'} end
  local v = tonumber(f[1] or '')
  if v and v > 1 then return nil, {'newer', f[1]} end
  if v ~= 1 then return nil, {'corrupt', 'v', f[1] or ''} end
  local room = {now = now(), owner = f[4] or '', digest = f[3] or ''}
  local damage
  for i, name in ipairs(numbers) do
    local n = tonumber(f[i + 4] or '')
    if n and n == whole(n) then
      room[name] = n
    else
      damage = damage or {'corrupt', name, f[i + 4] or ''}
    end
  end
  if room.dies and room.dies <= room.now then return nil, {'noroom'} end
  if room.digest ~= '' and redis.sha1hex(ARGV[2]) ~= room.digest then return nil, {'noroom'} end
  if damage then return nil, damage end
  return room
end

-- The end of a mute as it is told: '' for good.
local function ending(ms) return ms < exact and text(ms) or '' end

-- Whether somebody is in the room.
local function present(room, id)
  return id ~= '' and whole(redis.call('ZSCORE', KEYS[3], id)) > room.now
end

-- Until when who acts is muted, or nil.
local function muted(room)
  local till = whole(redis.call('ZSCORE', KEYS[5], ARGV[1]))
  return till > room.now and till or nil
end

-- Whether who acts may do what is the owner's: it is the owner, or an operator,
-- or the room has no owner and it is inside and not muted. Gives true, or false
-- and the refusal to answer.
local function allowed(room)
  local id = ARGV[1]
  if id == '' or id == room.owner then return true end
  if not present(room, id) then return false, {'notinroom'} end
  if room.owner ~= '' then return false, {'notallowed'} end
  local till = muted(room)
  if till then return false, {'muted', ending(till)} end
  return true
end

-- Who acts was here just now.
local function stay(room)
  redis.call('ZADD', KEYS[3], text(room.now + room.presence), ARGV[1])
end

-- Lets all keys end with the room: a key that was just made has no end yet.
local function bind(room)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, text(room.dies)) end
end

-- Drops what is more than keep entries, at most step of it.
local function trim(room)
  local length = redis.call('XLEN', KEYS[2])
  if length <= room.keep then return end
  redis.call('XTRIM', KEYS[2], 'MAXLEN', text(math.max(room.keep, length - step)))
  local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
  redis.call('HSET', KEYS[1], 'trimmed', text(first and number(first) - 1 or room.last))
end

-- Goes on after entries that somebody added by hand.
local function adopt(room)
  local id = newest(KEYS[2])
  if id > room.last and id <= exact then
    room.last = id
    redis.call('HSET', KEYS[1], 'last', text(id))
  end
end

-- What every reader is told of the room: {ms to live, people in it, last,
-- trimmed, entries kept, created, owner, ttl, presence, max, keep, whether it has
-- a password, {muted, until, muted, until…}}: at most 100 of the muted; until is
-- '' for good.
local function about(room)
  local since = '(' .. text(room.now)
  local mutes = redis.call('ZRANGEBYSCORE', KEYS[5], since, '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
  for i = 2, #mutes, 2 do mutes[i] = ending(whole(mutes[i])) end
  return {text(room.dies - room.now), redis.call('ZCOUNT', KEYS[3], since, '+inf'),
    text(room.last), text(room.trimmed), redis.call('XLEN', KEYS[2]), text(room.created),
    room.owner, text(room.ttl), text(room.presence), text(room.max), text(room.keep),
    room.digest ~= '' and 1 or 0, mutes}
end
