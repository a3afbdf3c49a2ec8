-- Returns what a scan of lines begins with: {'ok', time in ms, then for each line the id of its
-- newest entry or '', and of the last one that was delivered or ''}.
-- @include queue locate
local out = {'ok', int(now)}
for line = 1, LINES do
  local newest = call('XREVRANGE', KEYS[line], '+', '-', 'COUNT', 1)[1]
  local group = newest and group_of(line)
  out[#out + 1] = newest and newest[1] or ''
  out[#out + 1] = group and group['last-delivered-id'] or ''
end
return out
