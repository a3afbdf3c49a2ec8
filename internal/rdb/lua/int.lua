-- int returns a number in decimal. Numbers are doubles, of which tostring and
-- '..' keep 14 digits only.
local function int(n) return string.format('%.0f', n) end
