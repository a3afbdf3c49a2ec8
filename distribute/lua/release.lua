#!lua flags=allow-oom
-- Ends a claim before its lease expires, and deletes its staged cells.
-- ARGV: file id; token
-- Returns 1 if the claim was held, else 0.
-- @include channel
-- @include signal
local id, token = unpack(ARGV)
if call('HGET', OWNERS, id) ~= token then return 0 end
call('HDEL', OWNERS, id)
call('ZREM', CLAIMS, id)
call('UNLINK', STAGED)
signal('free', 'claim')
return 1
