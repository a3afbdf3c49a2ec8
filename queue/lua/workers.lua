-- Lists the workers of a queue.
-- Returns {'ok', for each worker its name, ms until its lease expires, 1 if it is dead
-- else 0, number of active jobs that it holds, id of the job that it runs solo or ''}.
-- @include queue locate
local held = {}
for line = 1, LINES do
  if group_of(line) then
    for _, consumer in ipairs(call('XPENDING', KEYS[line], GROUP)[4] or {}) do
      held[consumer[1]] = (held[consumer[1]] or 0) + tonumber(consumer[2])
    end
  end
end

local out = {'ok'}
local function add(worker, left, dead)
  local place = call('HGET', ALONE, worker)
  local solo = ''
  if place then
    local line, entry = parse_place(place)
    local fields = line and entry_fields(line, entry)
    if fields then solo = id_of(line, entry, fields) end
  end
  local n = #out
  out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = worker, left, dead, held[worker] or 0, solo
  held[worker] = nil
end

local leases = call('ZRANGE', LEASES, 0, -1, 'WITHSCORES')
for i = 1, #leases, 2 do add(leases[i], tonumber(leases[i + 1]) - now, 0) end
for _, worker in ipairs(call('ZRANGE', TOMBS, 0, -1)) do add(worker, 0, 1) end
-- Other consumers that hold jobs are unknown; a full scan recovers them.
local unknown = {}
for worker in pairs(held) do unknown[#unknown + 1] = worker end
for _, worker in ipairs(unknown) do add(worker, 0, 1) end
return out
