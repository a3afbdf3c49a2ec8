#!lua flags=allow-oom
-- Marks an upload as complete, and wakes its readers: no block follows. It is done if
-- no subscriber has to read it to its end.
-- ARGV: shipper; shipment; length of the whole upload; file id
-- Returns 1, also when repeated, 2 if the file is done; 0 if the shipment is no longer
-- the shipper's.
-- @include channel
-- @include done
local shipper, shipment, length, id = unpack(ARGV)
local owner, last, state, raw = unpack(call('HMGET', FILE, 'by', 'ship', 'state', 'raw'))
if owner ~= shipper or last ~= shipment then return 0 end
if state == 'done' then return 2 end
if state == 'uploading' and raw == length then
  call('HSET', FILE, 'state', 'uploaded')
  call('ZREM', UPLOADS, id)
  call('XADD', FILE_WAKE, 'MAXLEN', 1, length .. '-2', 'complete', 1)
  return call('HLEN', SUBSCRIBERS) > 0 and mark_done(id, shipment) and 2 or 1
end
return state == 'uploaded' and 1 or 0
