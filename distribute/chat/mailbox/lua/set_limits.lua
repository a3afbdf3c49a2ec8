-- Sets the limits of a box, which is created if it does not exist. With the policy
-- drop-oldest it drops messages over the limits.
-- ARGV[1] max messages  ARGV[2] max bytes  ARGV[3] 'refuse' or 'drop-oldest'
-- ARGV[4] idle time in ms, or '0'
-- ARGV[5…8] the limits that are replaced, in the same format; or none: any limits
-- Returns {'ok', more, set}: more is 1 if there is more to drop: call again; set is 0
--         if other limits hold, and nothing is changed
-- @include opened_box when_full

local before = {int(box.messages), int(box.bytes), box.full, int(box.idle)}
-- hold reports whether the limits are those in ARGV from this index on.
local function hold(first)
  for i = 1, 4 do
    if before[i] ~= ARGV[first + i - 1] then return false end
  end
  return true
end
if #ARGV > 4 and not hold(5) and not hold(1) then return {'ok', 0, 0} end

if not box.known then note_last(box, box.last) end
redis.call('HSET', HASH, 'messages', ARGV[1], 'bytes', ARGV[2], 'full', ARGV[3], 'idle', ARGV[4])
box.messages, box.bytes, box.full, box.idle = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local more = 0
if box.full == 'drop-oldest' then
  more = drop(box, function() return box.unread > box.messages or size(box) > box.bytes end)
end
if box.idle == 0 then
  for _, key in ipairs(KEYS) do redis.call('PERSIST', key) end
end
extend(box)
return {'ok', more, 1}
