-- Frees segments of a shipment that is done or abandoned; the last call returns
-- its space to the window.
-- KEYS: after the named ones, segments, at most 100
-- ARGV: shipment; file id; '1': these are the last
-- Returns 1 if the space was given back by this call, else 0.
-- @include channel
-- @include signal
local shipment, id, final = unpack(ARGV)
local last, state, cost = unpack(call('HMGET', FILE, 'ship', 'state', 'cost'))
if state ~= 'done' and state ~= 'abandoned' then
  call('SREM', SPENT, id) -- foreign data
  return 0
end
if last ~= shipment then return 0 end
for i = 7, #KEYS do call('UNLINK', KEYS[i]) end
if final ~= '1' then return 0 end
call('SREM', SPENT, id)
if call('ZREM', OPEN, id) == 0 then return 0 end
if state == 'done' then
  call('UNLINK', FILE_WAKE) -- no reader is left; that of an abandoned one expires later
end
call('HINCRBY', CHANNEL, 'used', -tonumber(cost))
call('HDEL', FILE, 'by', 'cost', 'raw', 'admitted', 'segment', 'base', 'upload')
signal('freed', 'file')
return 1
