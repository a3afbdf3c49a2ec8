-- Makes somebody a member. A member's cursor stays where it is.
-- KEYS: see group.lua
-- ARGV[1] member  ARGV[2] 'now' or 'oldest': where to start
-- Returns {'ok'}, or a refusal of group.lua

local chat, refusal = open()
if not chat then return refusal end
local cursor = ARGV[2] == 'oldest' and math.max(chat.oldest - 1, 0) or chat.last
redis.call('ZADD', KEYS[3], 'NX', text(cursor), ARGV[1])
return {'ok'}
