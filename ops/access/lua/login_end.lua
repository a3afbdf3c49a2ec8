#!lua flags=allow-oom
-- Forgets a login that was right: all that is counted for its name, and one for its address.
-- KEYS: logins, logins:end
-- ARGV: name of the row of the name, name of the row of the address
-- Returns {'ok'}.
-- @include int
local call = redis.call
call('HDEL', LOGINS, ARGV[1])
call('ZREM', LOGINS_END, ARGV[1])
local count, last = string.match(call('HGET', LOGINS, ARGV[2]) or '', '^(%d+) (%d+)$')
if count and tonumber(count) > 0 then call('HSET', LOGINS, ARGV[2], int(tonumber(count) - 1) .. ' ' .. last) end
return {'ok'}
