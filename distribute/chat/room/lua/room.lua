-- What all scripts of a room share.
-- KEYS: HASH of the room  LOG (stream)  PEOPLE in it: id, until when in ms (sorted
-- set)  NICKS: id, token of the entering and nickname (hash)
-- MUTES: who is muted: id, until when in ms (sorted set)
-- ARGV[1] id of who acts, '' for an operator
-- ARGV[2] the key of the password, '' without one
-- Refusals: those of log.lua and {'noroom'}: there is no such room, or the key is
-- wrong
-- @include log

local step = 500 -- entries that one call sweeps or trims
local small = 2048 -- bytes of a body: 64 of them are copied in a quarter of a millisecond
local numbers = {'dies', 'last', 'trimmed', 'big', 'ttl', 'presence', 'max', 'keep', 'created'}

-- Returns the room, or nil and the refusal to return. last is the id of the
-- newest entry, trimmed of the newest that was dropped for keep, big of the
-- newest whose body is not small.
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

-- The end of a mute as it is returned: '' for one without end.
local function ending(ms) return ms < exact and int(ms) or '' end

-- Reports whether a person is in the room.
local function present(room, id)
  return id ~= '' and whole(redis.call('ZSCORE', PEOPLE, id)) > room.now
end

-- Until when who acts is muted, or nil.
local function muted(room)
  local till = whole(redis.call('ZSCORE', MUTES, ARGV[1]))
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
  redis.call('ZADD', PEOPLE, int(room.now + room.presence), ARGV[1])
end

-- Lets all keys end with the room: a key that was just made has no end yet.
local function bind(room)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, int(room.dies)) end
end

-- Drops what is more than keep entries, at most step of it.
local function drop_old(room)
  local length = redis.call('XLEN', LOG)
  if length <= room.keep then return end
  redis.call('XTRIM', LOG, 'MAXLEN', int(math.max(room.keep, length - step)))
  local first = redis.call('XRANGE', LOG, '-', '+', 'COUNT', 1)[1]
  redis.call('HSET', HASH, 'trimmed', int(first and number(first) - 1 or room.last))
end

-- The state of the room for every reader: {ms to live, people in it, last,
-- trimmed, entries kept, created, owner, ttl, presence, max, keep, whether it has
-- a password, {muted, until, muted, until…}}: at most 100 of the muted; until is
-- '' for good.
local function about(room)
  local since = '(' .. int(room.now)
  local mutes = redis.call('ZRANGEBYSCORE', MUTES, since, '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
  for i = 2, #mutes, 2 do mutes[i] = ending(whole(mutes[i])) end
  return {int(room.dies - room.now), redis.call('ZCOUNT', PEOPLE, since, '+inf'),
    int(room.last), int(room.trimmed), redis.call('XLEN', LOG), int(room.created),
    room.owner, int(room.ttl), int(room.presence), int(room.max), int(room.keep),
    room.digest ~= '' and 1 or 0, mutes}
end
