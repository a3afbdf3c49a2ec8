-- Declarations shared by all scripts of a room.
-- KEYS: HASH of the room  LOG (stream)  PEOPLE in the room: id, end of the presence
-- in ms (sorted set)  NICKS: id, token of the entry and nickname (hash)
-- MUTES: id of a muted person, end of the mute in ms (sorted set)
-- ARGV[1] id of the calling person, '' for an operator
-- ARGV[2] key of the password, '' without a password
-- Refusals: those of log.lua and {'noroom'}: the room does not exist, or the key is
-- wrong
-- @include log

local step = 500 -- entries that one call removes at most
local small = 2048 -- max bytes of a small body: copying 64 takes a quarter of a millisecond
local numbers = {'dies', 'last', 'trimmed', 'big', 'ttl', 'presence', 'max', 'keep', 'created'}

-- open returns the room, or nil and the refusal to return. In the room, last is
-- the id of the newest entry, trimmed that of the newest entry dropped because of
-- keep, big that of the newest entry whose body is not small.
local function open()
  local f = redis.call('HMGET', HASH, 'v', 'gone', 'digest', 'owner', unpack(numbers))
  if not f[1] and (f[2] or redis.call('EXISTS', HASH) == 0) then return nil, {'noroom'} end
  local refusal = refused_format(f[1])
  if refusal then return nil, refusal end
  local room = {now = clock_ms(), owner = f[4] or '', digest = f[3] or ''}
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

-- ending returns the end of a mute for the reply: '' for a mute without end.
local function ending(ms) return ms < exact and int(ms) or '' end

-- present reports whether a person is in the room.
local function present(room, id)
  return id ~= '' and whole(redis.call('ZSCORE', PEOPLE, id)) > room.now
end

-- muted returns the end of the caller's mute in ms, or nil.
local function muted(room)
  local till = whole(redis.call('ZSCORE', MUTES, ARGV[1]))
  return till > room.now and till or nil
end

-- allowed reports whether the caller has the rights of the owner: as the owner, as
-- an operator, or, in a room without owner, as a person in the room that is not
-- muted. With false it returns the refusal to return.
local function allowed(room)
  local id = ARGV[1]
  if id == '' or id == room.owner then return true end
  if not present(room, id) then return false, {'notinroom'} end
  if room.owner ~= '' then return false, {'notallowed'} end
  local till = muted(room)
  if till then return false, {'muted', ending(till)} end
  return true
end

-- renew_presence starts the caller's presence time again.
local function renew_presence(room)
  redis.call('ZADD', PEOPLE, int(room.now + room.presence), ARGV[1])
end

-- set_expiry makes all keys expire with the room. A key that this call created does
-- not expire yet.
local function set_expiry(room)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, int(room.dies)) end
end

-- drop_old drops the oldest entries of more than keep, at most step of them.
local function drop_old(room)
  local length = redis.call('XLEN', LOG)
  if length <= room.keep then return end
  redis.call('XTRIM', LOG, 'MAXLEN', int(math.max(room.keep, length - step)))
  local first = redis.call('XRANGE', LOG, '-', '+', 'COUNT', 1)[1]
  redis.call('HSET', HASH, 'trimmed', int(first and number(first) - 1 or room.last))
end

-- state_of returns the state of the room: {time to live in ms, number of people,
-- last, trimmed, number of entries, created, owner, ttl, presence, max, keep, 1 if
-- it has a password or else 0, {id, until, id, until…}}. The last list has at most
-- 100 muted people and the ends of their mutes, '' for a mute without end.
local function state_of(room)
  local since = '(' .. int(room.now)
  local mutes = redis.call('ZRANGEBYSCORE', MUTES, since, '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
  for i = 2, #mutes, 2 do mutes[i] = ending(whole(mutes[i])) end
  return {int(room.dies - room.now), redis.call('ZCOUNT', PEOPLE, since, '+inf'),
    int(room.last), int(room.trimmed), redis.call('XLEN', LOG), int(room.created),
    room.owner, int(room.ttl), int(room.presence), int(room.max), int(room.keep),
    room.digest ~= '' and 1 or 0, mutes}
end
