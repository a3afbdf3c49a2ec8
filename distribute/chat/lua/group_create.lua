-- Creates a chat.
-- KEYS: see group.lua
-- ARGV[1] 'people' or 'channel'  ARGV[2] token, new for every creation
-- ARGV[3…] first members
-- Returns {'ok'}: created, by this call or by an earlier one with this token
--         {'exists'}: the id is taken

if redis.call('EXISTS', KEYS[1]) == 1 then
  return {redis.call('HGET', KEYS[1], 'token') == ARGV[2] and 'ok' or 'exists'}
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'v', '1', 'kind', ARGV[1], 'last', '0', 'oldest', '1',
  'created', text(now()), 'token', ARGV[2])
for i = 3, #ARGV do
  redis.call('ZADD', KEYS[3], '0', ARGV[i])
end
return {'ok'}
