-- Seals a claimed file: its staged counts and the mark that the subscriber has
-- counted it become valid in this one step.
-- ARGV: subscriber; file id; shipment; claim; number of staged cells; number of
-- fields of the file's record that follow, then field, value, …; then of the
-- subscriber's totals: field, increment, …
-- Returns 2 if every subscriber has now counted the shipment, 1 if not yet (both
-- also when repeated), 0 if the claim is lost or the shipment was abandoned, -1
-- if the staged counts are not as many.
-- @include channel
-- @include signal
-- @include done
local subscriber, id, shipment, claim, cells, fields = unpack(ARGV, 1, 6)
local last, state, counted, sealed_by = unpack(
  call('HMGET', FILE, 'ship', 'state', 'ship:' .. subscriber, 'seal:' .. subscriber))
if counted == shipment and sealed_by == claim then return state == 'done' and 2 or 1 end
if last ~= shipment or state ~= 'uploaded' or counted == shipment then return 0 end
if call('HGET', OWNERS, id) ~= claim then return 0 end
if call('HLEN', STAGED) ~= tonumber(cells) then return -1 end

if cells ~= '0' then
  call('RENAME', STAGED, SEALED_CELLS)
  call('SADD', SEALED, id .. ':' .. shipment)
end
call('HSET', FILE, 'ship:' .. subscriber, shipment, 'seal:' .. subscriber, claim)
local totals = 7 + 2 * fields
for i = 7, totals - 1, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  call('HSET', FILE, field .. ':' .. subscriber, value)
  if field == 'note' then call(value == '' and 'SREM' or 'SADD', PROBLEMS, id) end
end
for i = totals, #ARGV, 2 do call('HINCRBY', SUBSCRIBER, ARGV[i], ARGV[i + 1]) end
call('HINCRBY', SUBSCRIBER, 'version', 1)
call('HDEL', OWNERS, id)
call('ZREM', CLAIMS, id)
call('ZADD', FILES, int(clock_ms()), id)
signal('counted', 'file')
return finish(id, shipment) and 2 or 1
