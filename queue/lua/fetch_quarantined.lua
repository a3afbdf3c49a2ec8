-- Returns the function that delivers jobs of a quarantine line, for fetch.lua: at most
-- max_jobs, one by one with take, of the group of which the worker holds jobs, else of the
-- group that is first in the line. It returns their number.
local group -- of which the worker holds jobs; nil if it holds none
for line = 1, LINES do
  if is_quarantine(line) and call('EXISTS', KEYS[line]) == 1 then
    local held = redis.pcall('XPENDING', KEYS[line], GROUP, '-', '+', 1, worker)
    local entry = not held.err and held[1] and call('XRANGE', KEYS[line], held[1][1], held[1][1])[1]
    if entry then group = get(entry[2], 'group') end
  end
end

return function(line, max_jobs, take)
  local workers, taken = find_group(KEYS[line], GROUP), 0
  local last = workers and workers['last-delivered-id'] or '0-0'
  while taken < max_jobs do
    local entry = call('XRANGE', KEYS[line], '(' .. last, '+', 'COUNT', 1)[1]
    local other = entry and get(entry[2], 'group')
    if not entry or group and other ~= group or take(line, 1) == 0 then break end
    group, last, taken = other, entry[1], taken + 1
  end
  return taken
end
