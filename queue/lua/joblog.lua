-- Keeps something with an active job.
-- ARGV: id, caller, 'progress', bytes
--    or id, caller, 'log', most lines, most bytes, lines that each end with a newline
-- The caller is the line, entry and worker of a delivery, and is refused once the
-- job is delivered again. '' is let in always.
-- Returns {'ok'}; {'state'} when the job isn't active, or is another's.
-- @include queue locate
local id, caller = ARGV[1], ARGV[2]
local line, entry = place_of(id)
local worker = line and call('EXISTS', KEYS[line]) == 1 and holder_of(line, entry)
if not worker then return {'state'} end
if caller ~= '' and (caller ~= line .. ' ' .. entry .. ' ' .. worker or not call('ZSCORE', LEASES, worker)) then
  return {'state'}
end
if ARGV[3] == 'progress' then
  call('HSET', PROGRESS, id, ARGV[4])
  return {'ok'}
end
local most, bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local log = (call('HGET', LOGS, id) or '') .. ARGV[6]
local _, lines = string.gsub(log, '\n', '\n')
local first = 1
while lines > most or #log - first + 1 > bytes do
  local stop = string.find(log, '\n', first, true)
  if not stop then break end
  first, lines = stop + 1, lines - 1
end
call('HSET', LOGS, id, string.sub(log, first))
return {'ok'}
