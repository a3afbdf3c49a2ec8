#!lua flags=allow-oom
-- Marks an upload as complete, and wakes its readers: no block follows. It is done if
-- no subscriber has to read it to its end.
-- ARGV: shipper; shipment; length of the whole upload; file id
-- Returns 1, also when repeated, 2 if the file is done, also when it is freed; 0 if the
-- shipment is no longer the shipper's, or was cut off.
-- @include channel
-- @include uploaded
local shipper, shipment, length, id = unpack(ARGV)
local owner, last, state, raw, cut = unpack(call('HMGET', FILE, 'by', 'ship', 'state', 'raw', 'cut'))
if last ~= shipment or (cut or '') ~= '' then return 0 end
if state == 'done' and not owner then return 2 end -- freed; no other shipper had the shipment
if owner ~= shipper then return 0 end
if state == 'done' then return 2 end
if state == 'uploading' and raw == length then
  return end_upload(id, shipment, length) and 2 or 1
end
return state == 'uploaded' and 1 or 0
