#!lua flags=allow-oom
-- A shipper's heartbeat: renews its lease and that of the file it uploads.
-- ARGV: shipper; lease in ms; shipment of the file, 0: none; file id; the lease in ms that both
-- are given, as long or longer
-- Returns 1, or 0 if the lease had expired and the shipper was ended.
-- @include channel
-- @include amnesty
local shipper, lease, shipment, id, given = unpack(ARGV)
if not call('ZSCORE', LEASES, shipper) then return 0 end
local now = clock_ms()
local till = int(now + given)
acts(now, share * lease)
call('ZADD', LEASES, 'XX', till, shipper)
if shipment ~= '0' then
  local owner, last, state = unpack(call('HMGET', FILE, 'by', 'ship', 'state'))
  if owner == shipper and last == shipment and state == 'uploading' then
    call('ZADD', UPLOADS, 'XX', till, id)
  end
end
return 1
