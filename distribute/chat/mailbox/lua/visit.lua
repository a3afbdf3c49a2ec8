-- Records a visit of the receiver, and returns the state that a read needs.
-- ARGV[1] id after which the receiver reads
-- Returns {'ok', last, found, big, born}: found is 1 if messages after the id are
--         unread, big is 1 if one of them is big; born distinguishes this box
--         from earlier ones of the name
-- @include opened_box

visit(box)
local big, found = 0, 0
if box.big > 0 then big = redis.call('ZCOUNT', BIG, '(' .. ARGV[1], '+inf') > 0 and 1 or 0 end
if big == 1 then
  found = 1
elseif box.unread > 0 then
  local after = '(' .. ARGV[1] .. '-18446744073709551615'
  found = #redis.call('XRANGE', LOG, after, '+', 'COUNT', 1)
end
return {'ok', int(box.last), found, big, box.born}
