-- before reports whether entry id a precedes b.
local function before(a, b)
  local a_ms, a_seq = string.match(a, '^(%d+)%-?(%d*)$')
  local b_ms, b_seq = string.match(b, '^(%d+)%-?(%d*)$')
  if a_ms ~= b_ms then return tonumber(a_ms) < tonumber(b_ms) end
  return (tonumber(a_seq) or 0) < (tonumber(b_seq) or 0)
end
