-- Creates a room.
-- ARGV[1] token, new for every creation  ARGV[2] owner, or ''  ARGV[3] ttl in ms
-- ARGV[4] presence in ms  ARGV[5] max people  ARGV[6] entries to keep
-- ARGV[7] digest of the key, or ''  ARGV[8] salt  ARGV[9] rounds of the hash
-- The token of an earlier deletion is copied into the new room, or a repeated call
-- of that deletion would delete the new room.
-- Returns {'ok'}: created, by this call or by an earlier one with this token
--         {'exists'}: the name is taken
-- @include room

local f = redis.call('HMGET', HASH, 'token', 'dies', 'gone', 'v')
local now = clock_ms()
local ended = f[3] and not f[4] or tonumber(f[2] or '') and tonumber(f[2]) <= now
if not ended and redis.call('EXISTS', HASH) == 1 then
  return {f[1] == ARGV[1] and 'ok' or 'exists'}
end
redis.call('UNLINK', unpack(KEYS))
local dies = int(now + tonumber(ARGV[3]))
redis.call('HSET', HASH, 'v', '1', 'last', '0', 'trimmed', '0', 'big', '0',
  'created', int(now), 'dies', dies, 'token', ARGV[1], 'owner', ARGV[2],
  'ttl', ARGV[3], 'presence', ARGV[4], 'max', ARGV[5], 'keep', ARGV[6],
  'digest', ARGV[7], 'salt', ARGV[8], 'rounds', ARGV[9])
if f[3] then redis.call('HSET', HASH, 'gone', f[3]) end
redis.call('PEXPIREAT', HASH, dies)
return {'ok'}
