-- Frees segments of a shipment that is done or abandoned; the last call gives
-- its space back to the window.
-- KEYS: behind the named ones, segments, at most 100
-- ARGV: shipment; file id; '1': these are the last
-- Returns 1 if the space was given back by this call, else 0.
-- @include channel
-- @include signal
local shipment, id, final = unpack(ARGV)
local last, state, cost = unpack(call('HMGET', FILE, 'ship', 'state', 'cost'))
if state ~= 'done' and state ~= 'abandoned' then
  call('SREM', SPENT, id) -- nothing of ours put it there
  return 0
end
if last ~= shipment then return 0 end
for i = 7, #KEYS do call('UNLINK', KEYS[i]) end
if final ~= '1' then return 0 end
call('SREM', SPENT, id)
if call('ZREM', OPEN, id) == 0 then return 0 end
if state == 'done' then
  call('UNLINK', FILE_WAKE) -- nobody reads; an abandoned one expires after its readers have seen it
end
call('HINCRBY', CHANNEL, 'used', -tonumber(cost))
call('HDEL', FILE, 'by', 'cost', 'raw', 'admitted', 'segment', 'base', 'upload')
signal('freed', 'file')
return 1
