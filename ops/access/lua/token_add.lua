-- Adds a token.
-- KEYS: tokens
-- ARGV: id, record, maximum number of tokens
-- Returns {'ok'}, also if the token exists with this record; {'full'} if there are too many.
local call = redis.call
if call('HGET', TOKENS, ARGV[1]) == ARGV[2] then return {'ok'} end
if call('HLEN', TOKENS) >= tonumber(ARGV[3]) then return {'full'} end
call('HSET', TOKENS, ARGV[1], ARGV[2])
return {'ok'}
