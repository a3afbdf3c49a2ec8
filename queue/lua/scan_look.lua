-- Returns what a scan of lines begins with: {'ok', time in ms, then for each line 1 if it has
-- entries else 0, and the id of the entry that was delivered last or ''}. It reads no entries.
-- @include queue locate
local out = {'ok', int(now)}
for line = 1, LINES do
  local filled = call('XLEN', KEYS[line]) > 0
  local group = filled and group_of(line)
  out[#out + 1] = filled and 1 or 0
  out[#out + 1] = group and group['last-delivered-id'] or ''
end
return out
