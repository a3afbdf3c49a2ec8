-- Records a visit of the receiver, and returns the state that a read needs.
-- ARGV[1] id after which the receiver reads, see read_after
-- Returns {'ok', last, found, big, born, after}: found is 1 if messages after the id
--         after are unread, big is 1 if one of them is big; born distinguishes this
--         box from earlier ones of the name
-- @include opened_box

visit(box)
local big, found, after = 0, 0, int(read_after(ARGV[1], box.last))
if box.big > 0 then big = redis.call('ZCOUNT', BIG, '(' .. after, '+inf') > 0 and 1 or 0 end
if big == 1 then
  found = 1
elseif box.unread > 0 then
  found = #redis.call('XRANGE', LOG, '(' .. after .. '-18446744073709551615', '+', 'COUNT', 1)
end
return {'ok', int(box.last), found, big, box.born, after}
