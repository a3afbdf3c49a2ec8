-- Ends a claim before its lease expires, and deletes what it staged.
-- ARGV: file id; claim
-- Returns 1 if the claim was held, else 0.
-- @include channel
-- @include signal
local id, claim = unpack(ARGV)
if call('HGET', OWNERS, id) ~= claim then return 0 end
call('HDEL', OWNERS, id)
call('ZREM', CLAIMS, id)
call('UNLINK', STAGED)
signal('free', 'claim')
return 1
