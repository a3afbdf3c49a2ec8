-- mark_done marks the file as done if every subscriber has counted the shipment,
-- and reports whether it did. Its segments are then freed by free.lua.
local function mark_done(id, shipment)
  for _, name in ipairs(call('HKEYS', SUBSCRIBERS)) do
    if call('HGET', FILE, 'ship:' .. name) ~= shipment then return false end
  end
  call('HSET', FILE, 'state', 'done')
  call('SADD', SPENT, id)
  return true
end
