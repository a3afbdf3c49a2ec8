-- Returns the cursor of a member.
-- ARGV[1] member  ARGV[2] '1' if the member itself calls: that counts as a visit
-- Returns {'ok', more, cursor, last, oldest, kind}: last is the last id of the
--         chat, oldest the id of the oldest kept message, last + 1 if none is kept
--         {'notmember'}
-- @include opened_chat

local cursor
if ARGV[2] == '1' then
  cursor = visit(ARGV[1])
else
  cursor = redis.call('ZSCORE', CURSORS, ARGV[1])
end
if not cursor then return {'notmember'} end
return {'ok', enforce(chat), int(whole(cursor)), int(chat.last), int(chat.oldest), chat.kind}
