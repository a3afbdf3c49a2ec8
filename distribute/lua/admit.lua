-- Admits one shipment of a file to the window, in the order of the requests.
-- ARGV: shipper; file id; index key of the head; the index entry as read; last
-- shipment of the file as read, 0: none; head, empty: keep the recorded one; cost
-- in bytes; lease in ms; pairs (record field, value): name, codec, size, base,
-- segment …
-- Returns {'admitted', shipment}
--      or {'changed'}: the index or the record is not as it was read; read it again
--      or {'large', window}: the window can never hold it
--      or {'full', bytes in use}: the window has no room
--      or {'line', bytes in use}: other shippers have waited longer
-- @include channel
local shipper, id, index_key, index, seen, head, cost, lease = unpack(ARGV, 1, 8)
local size, now = tonumber(cost), clock_ms()

local last, state, owner = unpack(call('HMGET', FILE, 'ship', 'state', 'by'))
local shipment = tonumber(last or 0)
if owner == shipper and state == 'uploading' and shipment == tonumber(seen) + 1 then
  return {'admitted', shipment} -- a repeated call
end

-- refuse removes the shipper from the line, so that it delays no other.
local function refuse(...)
  call('ZREM', LINE, shipper)
  return {...}
end
if (last or '0') ~= seen or (call('HGET', HEADS, index_key) or '') ~= index then return refuse('changed') end
if state and state ~= 'done' and state ~= 'abandoned' or call('ZSCORE', OPEN, id) then return refuse('changed') end
local window = tonumber(call('HGET', CHANNEL, 'window') or '0')
if size > window then return refuse('large', window) end

-- The line: first come, first served, among shippers that are alive.
local used = tonumber(call('HGET', CHANNEL, 'used') or '0')
if not call('ZSCORE', LINE, shipper) then
  call('ZADD', LINE, int(call('HINCRBY', CHANNEL, 'turn', 1)), shipper)
end
for _, other in ipairs(call('ZRANGE', LINE, 0, 99)) do
  if other == shipper then break end
  if alive(call('ZSCORE', LEASES, other), now) then return {'line', used} end
  call('ZREM', LINE, other)
end
if used + size > window then return {'full', used} end

call('ZREM', LINE, shipper)
call('HINCRBY', CHANNEL, 'used', cost)
if not last then
  call('HSET', HEADS, index_key, index == '' and id or index .. ' ' .. id)
  call('HSET', FILE, 'v', 2, 'first', index_key)
end
shipment = shipment + 1
call('HSET', FILE, 'ship', shipment, 'state', 'uploading', 'by', shipper, 'cost', cost, 'admitted', int(now), 'raw', 0)
-- The lease of an upload never ends after that of its shipper.
local till = int(now + lease)
call('ZADD', UPLOADS, till, id)
call('ZADD', LEASES, 'XX', 'GT', till, shipper)
if head ~= '' then call('HSET', FILE, 'head', head) end
for i = 9, #ARGV, 2 do call('HSET', FILE, ARGV[i], ARGV[i + 1]) end
call('ZADD', OPEN, int(now), id)
call('ZADD', FILES, int(now), id)
call('ZREM', ABANDONED, id)
return {'admitted', shipment}
