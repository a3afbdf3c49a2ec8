-- Returns the cursor of a member.
-- ARGV[1] member  ARGV[2] '1' if the member itself calls: that counts as a visit
-- ARGV[3] id of a message that is returned for a lower cursor, see read_after; or none
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
cursor = math.max(whole(cursor), read_after(ARGV[3], chat.last))
return {'ok', enforce(chat), int(cursor), int(chat.last), int(chat.oldest), chat.kind}
