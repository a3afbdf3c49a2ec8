-- Lists ids of jobs that are stored by id, in the order of walk.lua, without reading them.
-- ARGV: state, cursor, maximum number of jobs, maximum size of their records in bytes; a larger
--       record is listed alone
-- Returns {'ok', then for each job its id and its score}. There are none at the end.
-- @include queue walk
local out = {'ok'}
local score, id = string.match(ARGV[2], '^(%S+) (.*)$')
for _, shelf in ipairs(SHELVES) do
  if shelf.state == ARGV[1] then
    local ids, scores = members_after(shelf, score, id, tonumber(ARGV[3]))
    for i = 1, count_fitting(shelf.jobs, ids, tonumber(ARGV[4])) do
      if shelf.state == 'finished' and tonumber(scores[i]) <= now then break end
      out[#out + 1], out[#out + 2] = ids[i], scores[i]
    end
  end
end
return out
