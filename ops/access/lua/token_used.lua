-- Notes that a token was used now.
-- KEYS: tokens, tokens:used
-- ARGV: id
-- Returns {'ok'}, or {'none'} if the token does not exist.
-- @include int clock
if redis.call('HEXISTS', TOKENS, ARGV[1]) == 0 then return {'none'} end
redis.call('HSET', TOKENS_USED, ARGV[1], int(clock_ms()))
return {'ok'}
