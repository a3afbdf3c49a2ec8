#!lua flags=allow-oom
-- Frees segments of a shipment that is done or abandoned; the last call returns
-- its space to the window. That a stream was cut off stays recorded: its shipper may ask.
-- KEYS: the declared keys, then segments, at most 100
-- ARGV: shipment; file id; '1': these are the last
-- Returns 1 if this call returned the space, else 0.
-- @include channel
-- @include signal
local shipment, id, final = unpack(ARGV)
local last, state = unpack(call('HMGET', FILE, 'ship', 'state'))
if state ~= 'done' and state ~= 'abandoned' then
  call('SREM', SPENT, id) -- shipped again, or foreign data
  return 0
end
if last ~= shipment then return 0 end
for i = 9, #KEYS do call('UNLINK', KEYS[i]) end
if final ~= '1' then return 0 end
call('SREM', SPENT, id)
if call('ZREM', OPEN, id) == 0 then return 0 end
if state == 'done' then
  call('UNLINK', FILE_WAKE) -- no reader is left; that of an abandoned one expires later
end
call('HINCRBY', CHANNEL, 'used', int(-tonumber(call('HGET', HELD, id) or '0')))
call('HDEL', HELD, id)
call('HDEL', RESERVES, id)
call('HDEL', FILE, 'by', 'raw', 'admitted', 'segment', 'unit', 'base', 'upload', 'booked', 'freed', 'full', 'stream')
signal('freed', 'file')
return 1
