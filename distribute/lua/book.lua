-- Books the next segment of an upload in the window. If it has no room, the readers of
-- the file are woken, so that they commit and free segments.
-- ARGV: shipper; shipment; file id; number of the segment, from 0; its cost in bytes
-- Returns {'booked'}, also when repeated
--      or {'lost'}: the shipment is no longer the shipper's
--      or {'large', window}: the window can't hold the reserve of the file
--      or {'full', bytes in use}: the window has no room
--      or {'line', bytes in use}: the file holds its reserve, and other shippers wait to admit a file
-- @include channel
-- @include room
local shipper, shipment, id, number, cost = unpack(ARGV)
local owner, last, state, booked, raw, full = unpack(call('HMGET', FILE, 'by', 'ship', 'state', 'booked', 'raw', 'full'))
if owner ~= shipper or last ~= shipment or state ~= 'uploading' then return {'lost'} end
if tonumber(number) < tonumber(booked) then return {'booked'} end
if number ~= booked then return {'lost'} end
local window, used = unpack(call('HMGET', CHANNEL, 'window', 'used'))
window, used = tonumber(window or '0'), tonumber(used or '0')
local reserve, held = tonumber(call('HGET', RESERVES, id) or '0'), tonumber(call('HGET', HELD, id) or '0')
if reserve > window then return {'large', window} end

local function refuse(reason)
  if full ~= raw then
    call('HSET', FILE, 'full', raw)
    call('XADD', FILE_WAKE, 'MAXLEN', 1, raw .. '-1', 'full', 1)
  end
  return {reason, used}
end
-- The others hold more than they may if the window was made smaller, or if a file that is done is
-- not freed yet: then there will be room soon.
local in_reserve = held + cost <= reserve and oldest() == id and call('SCARD', SPENT) == 0
if used + cost + reserved(id) > window and not in_reserve then return refuse('full') end
if held + cost > reserve and not first_in_line(shipper, clock_ms()) then return refuse('line') end

hold(id, cost)
call('HINCRBY', FILE, 'booked', 1)
call('HDEL', FILE, 'full')
return {'booked'}
