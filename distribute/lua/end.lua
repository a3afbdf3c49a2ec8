#!lua flags=allow-oom
-- Ends a shipper: for itself, or, if its lease has expired, for any process, unless
-- Redis was away then.
-- ARGV: shipper; '1': only if its lease has expired
-- Returns 1 if this call removed it, else 0.
-- @include channel
-- @include signal
-- @include amnesty
local shipper, only_expired = unpack(ARGV)
if call('HEXISTS', CHANNEL, 'v') == 0 then return 0 end -- it was deleted
if only_expired == '1' then
  local lease, now = call('ZSCORE', LEASES, shipper), clock_ms()
  if alive(lease, now) or spared(lease, now) then return 0 end
end
call('ZREM', LEASES, shipper)
call('ZREM', LINE, shipper)
local gone = call('HDEL', SHIPPERS, shipper)
signal('gone', 'shipper')
return gone
