#!lua flags=allow-oom
-- Marks an upload as complete, and wakes its readers: no block follows.
-- ARGV: shipper; shipment; length of the whole upload; file id
-- Returns 1, also when repeated; 0 if the shipment is no longer the shipper's.
-- @include channel
local shipper, shipment, length, id = unpack(ARGV)
local owner, last, state, raw = unpack(call('HMGET', FILE, 'by', 'ship', 'state', 'raw'))
if owner ~= shipper or last ~= shipment then return 0 end
if state == 'uploading' and raw == length then
  call('HSET', FILE, 'state', 'uploaded')
  call('ZREM', UPLOADS, id)
  call('XADD', FILE_WAKE, 'MAXLEN', 1, length .. '-1', 'complete', 1)
  return 1
end
return (state == 'uploaded' or state == 'done') and 1 or 0
