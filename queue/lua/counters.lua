-- Reads the counters of the latest days.
-- ARGV: days, names of counters
-- Returns {'ok', today as days since 1970, then the counters in order: of all
-- time, of today, of yesterday, …}.
-- @include queue added
local today = math.floor(now / 86400000)
local fields = {}
for name = 2, #ARGV do fields[#fields + 1] = 'total:' .. ARGV[name] end
for back = 0, tonumber(ARGV[1]) - 1 do
  for name = 2, #ARGV do fields[#fields + 1] = int(today - back) .. ':' .. ARGV[name] end
end
local out = {'ok', today}
for i = 1, #fields, 500 do
  local found = call('HMGET', COUNTS, unpack(fields, i, math.min(i + 499, #fields)))
  for f = 1, math.min(500, #fields - i + 1) do out[#out + 1] = found[f] or '0' end
end

local names, days = #ARGV - 1, tonumber(ARGV[1])
for name = 1, names do
  if ARGV[name + 1] == 'enqueued' then
    for line = 1, LINES do
      if is_fresh(line) then
        local n, day = uncounted(KEYS[line], today)
        local back = today - day
        out[2 + name] = int(out[2 + name] + n)
        if back < days then
          local at = 2 + (1 + back) * names + name
          out[at] = int(out[at] + n)
        end
      end
    end
  end
end
return out
