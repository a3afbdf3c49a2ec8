-- Adds a member. The cursor of an existing member stays.
-- ARGV[1] member  ARGV[2] 'now' or 'oldest': where to start
-- Returns {'ok', more}
-- @include opened_chat

local more = enforce(chat)
if more == 1 then return {'ok', 1} end -- chat.oldest is not final
local cursor = ARGV[2] == 'oldest' and math.max(chat.oldest - 1, 0) or chat.last
-- Nothing is added for a member: a full Redis accepts that.
if not visit(ARGV[1]) then
  redis.call('ZADD', CURSORS, int(cursor), ARGV[1])
  visit(ARGV[1])
end
return {'ok', 0}
