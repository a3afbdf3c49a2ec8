-- Tells how far a member is.
-- KEYS: see group.lua
-- ARGV[1] member
-- Returns {'ok', cursor}
--         {'notmember'}
--         or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local cursor = redis.call('ZSCORE', KEYS[3], ARGV[1])
if not cursor then return {'notmember'} end
return {'ok', text(whole(cursor))}
