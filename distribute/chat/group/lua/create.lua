-- Creates a chat.
-- ARGV[1] 'people' or 'channel'  ARGV[2] token, new for every creation
-- ARGV[3] limits, or ''  ARGV[4…] first members
-- Returns {'ok', 0}: created, by this call or by an earlier one with this token
--         {'exists'}: the id is taken
-- @include group

local chat, refusal = open()
if chat or refusal[1] ~= 'nochat' then
  if chat and redis.call('HGET', HASH, 'token') == ARGV[2] then return {'ok', 0} end
  return {'exists'}
end
delete()
local created = int(clock_ms())
redis.call('HSET', HASH, 'v', '1', 'kind', ARGV[1], 'last', '0', 'oldest', '1',
  'created', created, 'token', ARGV[2])
if ARGV[3] ~= '' then redis.call('HSET', HASH, 'limits', ARGV[3]) end
for i = 4, #ARGV do
  redis.call('ZADD', CURSORS, '0', ARGV[i])
  redis.call('ZADD', SEEN, created, ARGV[i])
end
return {'ok', 0}
