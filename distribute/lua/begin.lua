-- Registers a shipper under a lease. Repeating it renews the lease.
-- ARGV: shipper; lease in ms; 'follow' or 'batch'; name for people
-- Returns 1, or 0 if there is no such channel: it was deleted.
-- @include channel
-- @include signal
-- @include amnesty
local shipper, lease, mode, name = unpack(ARGV)
if call('HEXISTS', CHANNEL, 'v') == 0 then return 0 end
if call('HSET', SHIPPERS, shipper, mode .. ' ' .. name) == 1 then
  call('HINCRBY', CHANNEL, 'shipments', 1)
end
local now = clock_ms()
acts(now, share * lease)
call('ZADD', LEASES, int(now + lease), shipper)
signal('new', 'shipper')
return 1
