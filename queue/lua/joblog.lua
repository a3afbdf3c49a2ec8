-- Keeps something with an active job.
-- ARGV: id, 'progress', bytes
--    or id, 'log', most lines, most bytes, lines that each end with a newline
-- Returns {'ok'}; {'state'} when the job isn't active; {'newer', format}.
local id = ARGV[1]
local line, entry = place_of(id)
if not line or call('EXISTS', KEYS[line]) == 0 or not holder_of(line, entry) then return {'state'} end
if ARGV[2] == 'progress' then
  call('HSET', PROGRESS, id, ARGV[3])
  return {'ok'}
end
local most, bytes = tonumber(ARGV[3]), tonumber(ARGV[4])
local log = (call('HGET', LOGS, id) or '') .. ARGV[5]
local _, lines = string.gsub(log, '\n', '\n')
local first = 1
while lines > most or #log - first + 1 > bytes do
  local stop = string.find(log, '\n', first, true)
  if not stop then break end
  first, lines = stop + 1, lines - 1
end
call('HSET', LOGS, id, string.sub(log, first))
return {'ok'}
