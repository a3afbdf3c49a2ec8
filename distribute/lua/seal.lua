-- Seals the result of a claim: the staged cells and the mark that the subscriber
-- has counted the shipment become valid in this one script.
-- ARGV: subscriber; file id; shipment; token; number of staged cells; n; n pairs
-- (record field, value); pairs (sum field, increment)
-- Returns
--      2 if every subscriber has now counted the shipment, 1 if not yet: also
--        when repeated
--      0 if the claim is lost or the shipment can't be counted (not uploaded,
--        superseded, or counted already under another claim)
--      -1 if the number of staged cells differs from the argument
-- @include channel
-- @include signal
-- @include done
local subscriber, id, shipment, token, cells, n = unpack(ARGV, 1, 6)
local last, state, counted, sealed_by = unpack(
  call('HMGET', FILE, 'ship', 'state', 'ship:' .. subscriber, 'seal:' .. subscriber))
if counted == shipment and sealed_by == token then return state == 'done' and 2 or 1 end
if last ~= shipment or state ~= 'uploaded' or counted == shipment then return 0 end
if call('HGET', OWNERS, id) ~= token then return 0 end
if call('HLEN', STAGED) ~= tonumber(cells) then return -1 end

if cells ~= '0' then
  call('RENAME', STAGED, SEALED_CELLS)
  call('SADD', SEALED, id .. ':' .. shipment)
end
call('HSET', FILE, 'ship:' .. subscriber, shipment, 'seal:' .. subscriber, token)
local first_sum = 7 + 2 * n
for i = 7, first_sum - 1, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  call('HSET', FILE, field .. ':' .. subscriber, value)
  if field == 'note' then call(value == '' and 'SREM' or 'SADD', PROBLEMS, id) end
end
for i = first_sum, #ARGV, 2 do call('HINCRBY', SUBSCRIBER, ARGV[i], ARGV[i + 1]) end
call('HINCRBY', SUBSCRIBER, 'version', 1)
call('HDEL', OWNERS, id)
call('ZREM', CLAIMS, id)
call('ZADD', FILES, int(clock_ms()), id)
signal('counted', 'file')
return mark_done(id, shipment) and 2 or 1
