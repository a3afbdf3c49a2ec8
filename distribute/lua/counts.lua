#!lua flags=no-writes
-- Reads the counts of one group at one moment: its totals and the cells that are
-- sealed and not folded yet. (A transaction is refused while Redis is full.)
-- KEYS: the totals of the group, then the sealed cells of shipments
-- ARGV: group
-- Returns {member, count, member, count, …}; a member may occur more than once.
local prefix = ARGV[1] .. '\t'
local counts = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
-- A score may come as 1e+8; tonumber of the embedded Redis does not read it, + does.
for i = 2, #counts, 2 do counts[i] = string.format('%.0f', counts[i] + 0) end
for i = 2, #KEYS do
  local cells = redis.call('HGETALL', KEYS[i])
  for j = 1, #cells, 2 do
    if string.sub(cells[j], 1, #prefix) == prefix then
      counts[#counts + 1] = string.sub(cells[j], #prefix + 1)
      counts[#counts + 1] = cells[j + 1]
    end
  end
end
return counts
