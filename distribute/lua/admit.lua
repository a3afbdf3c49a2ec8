-- Admits one shipment of a file to the window, in the order of the requests, and
-- books its first segments.
-- ARGV: shipper; file id; index key of the head; the index entry as read; last
-- shipment of the file as read, 0: none; head, empty: keep the recorded one; cost of
-- the segments in bytes; number of the segments; reserve of the file in bytes; lease in
-- ms; number of resets, as read before the record; pairs (record field, value): name, codec, size, base, segment …
-- Returns {'admitted', shipment, place in the order of admission}
--      or {'changed'}: the index or the record is not as it was read, or a subscriber was reset
--        since; read it again
--      or {'gone'}: there is no such channel any more
--      or {'large', window}: the window can never hold the segments or the reserve
--      or {'full', bytes in use}: the window has no room
--      or {'line', bytes in use}: other shippers have waited longer
-- @include channel
-- @include room
local shipper, id, index_key, index, seen, head, cost, segments, reserve, lease, resets = unpack(ARGV, 1, 11)
local now = clock_ms()

local last, state, owner = unpack(call('HMGET', FILE, 'ship', 'state', 'by'))
local shipment = tonumber(last or 0)
if owner == shipper and state == 'uploading' and shipment == tonumber(seen) + 1 then
  return {'admitted', shipment, int(call('ZSCORE', OPEN, id) + 0)} -- a repeated call
end

-- refuse removes the shipper from the line, so that it delays no other.
local function refuse(...)
  call('ZREM', LINE, shipper)
  return {...}
end
if (last or '0') ~= seen or (call('HGET', HEADS, index_key) or '') ~= index then return refuse('changed') end
if (call('HGET', CHANNEL, 'resets') or '0') ~= resets then return refuse('changed') end
if state and state ~= 'done' and state ~= 'abandoned' or call('ZSCORE', OPEN, id) then return refuse('changed') end
if call('HEXISTS', CHANNEL, 'v') == 0 then return refuse('gone') end
local window = tonumber(call('HGET', CHANNEL, 'window') or '0')
if math.max(tonumber(cost), tonumber(reserve)) > window then return refuse('large', window) end

-- The line: first come, first served, among shippers that are alive.
local used = tonumber(call('HGET', CHANNEL, 'used') or '0')
if not call('ZSCORE', LINE, shipper) then
  call('ZADD', LINE, int(call('HINCRBY', CHANNEL, 'turn', 1)), shipper)
end
if not first_in_line(shipper, now) then return {'line', used} end
if used + cost + reserved(id) > window then return {'full', used} end

call('ZREM', LINE, shipper)
hold(id, cost)
call('HSET', RESERVES, id, reserve)
if not last then
  call('HSET', HEADS, index_key, index == '' and id or index .. ' ' .. id)
  call('HSET', FILE, 'v', 5, 'first', index_key)
end
shipment = shipment + 1
call('HSET', FILE, 'ship', shipment, 'state', 'uploading', 'by', shipper, 'admitted', int(now), 'raw', 0,
  'booked', segments, 'freed', 0)
call('HDEL', FILE, 'cut')
-- The lease of an upload never ends after that of its shipper.
local till = int(now + lease)
call('ZADD', UPLOADS, till, id)
call('ZADD', LEASES, 'XX', 'GT', till, shipper)
if head ~= '' then call('HSET', FILE, 'head', head) end
for i = 12, #ARGV, 2 do call('HSET', FILE, ARGV[i], ARGV[i + 1]) end
-- The order of admission is strict, also if the clock goes back.
local newest = call('ZRANGE', OPEN, -1, -1, 'WITHSCORES')[2]
local place = int(math.max(now, (newest or 0) + 1)) -- tonumber of the embedded Redis reads no 9e+12
call('ZADD', OPEN, place, id)
call('ZADD', FILES, int(now), id)
call('ZREM', ABANDONED, id)
return {'admitted', shipment, place}
