-- Reads the counters of the latest days.
-- ARGV: days, names of counters
-- Returns {'ok', today as days since 1970, then the counters in order: of all
-- time, of today, of yesterday, …}.
-- @include queue
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
return out
