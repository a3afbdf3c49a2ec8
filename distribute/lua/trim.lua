#!lua flags=allow-oom
-- Frees the first segments of a file that is being counted: those that no subscriber
-- needs any more, not even to go on from its last commit. A subscriber that came when
-- segments were freed already gets the file with a later shipment, and needs none.
-- KEYS: the declared keys, then the segments, at most 100
-- ARGV: shipment; file id; number of the first segment to free, and of the first to keep
-- Returns 1 if this call freed them, else 0.
-- @include channel
-- @include signal
local shipment, id, from, to = unpack(ARGV)
local last, state, freed, segment, unit, raw = unpack(call('HMGET', FILE, 'ship', 'state', 'freed', 'segment', 'unit', 'raw'))
if last ~= shipment or (state ~= 'uploading' and state ~= 'uploaded') or freed ~= from then return 0 end
local needed = to * (segment or 0)
if not segment or not unit or needed > tonumber(raw or '0') then return 0 end
local subscribers = call('HKEYS', SUBSCRIBERS)
if #subscribers == 0 then return 0 end
for _, name in ipairs(subscribers) do
  local counted, part, keep = unpack(call('HMGET', FILE, 'ship:' .. name, 'part:' .. name, 'keep:' .. name))
  local late = part ~= shipment and freed ~= '0'
  if counted ~= shipment and not late and (part ~= shipment or tonumber(keep or '0') < needed) then return 0 end
end
for i = 6, #KEYS do call('UNLINK', KEYS[i]) end
local bytes = -(to - from) * unit
call('HSET', FILE, 'freed', to)
call('HINCRBY', CHANNEL, 'used', int(bytes))
call('HINCRBY', HELD, id, int(bytes))
signal('freed', 'segment')
return 1
