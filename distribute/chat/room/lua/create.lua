-- Creates a room.
-- ARGV[1] token, new for every creation  ARGV[2] owner, or ''  ARGV[3] ttl in ms
-- ARGV[4] presence in ms  ARGV[5] most people  ARGV[6] entries to keep
-- ARGV[7] digest of the key, or ''  ARGV[8] salt  ARGV[9] rounds of the hash
-- The mark of a deletion goes on into the new room, or else a repeated deletion
-- would take that with it.
-- Returns {'ok'}: created, by this call or by an earlier one with this token
--         {'exists'}: the name is taken
-- @include room

local f = redis.call('HMGET', HASH, 'token', 'dies', 'gone', 'v')
local at = clock_ms()
local over = f[3] and not f[4] or tonumber(f[2] or '') and tonumber(f[2]) <= at
if not over and redis.call('EXISTS', HASH) == 1 then
  return {f[1] == ARGV[1] and 'ok' or 'exists'}
end
redis.call('UNLINK', unpack(KEYS))
local dies = int(at + tonumber(ARGV[3]))
redis.call('HSET', HASH, 'v', '1', 'last', '0', 'trimmed', '0', 'big', '0',
  'created', int(at), 'dies', dies, 'token', ARGV[1], 'owner', ARGV[2],
  'ttl', ARGV[3], 'presence', ARGV[4], 'max', ARGV[5], 'keep', ARGV[6],
  'digest', ARGV[7], 'salt', ARGV[8], 'rounds', ARGV[9])
if f[3] then redis.call('HSET', HASH, 'gone', f[3]) end
redis.call('PEXPIREAT', HASH, dies)
return {'ok'}
