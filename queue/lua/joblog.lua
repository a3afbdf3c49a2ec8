-- Stores the progress or log lines of an active job.
-- ARGV: id, delivery, 'progress', bytes
--    or id, delivery, 'log', maximum lines, maximum bytes, lines that end with newlines
-- The delivery is the line, entry and worker of the caller's fetch; it is refused when
-- the job was delivered again. '' is always accepted.
-- Returns {'ok'}; {'state'} if the job isn't active, or another worker has it.
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
local limit, bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local log = (call('HGET', LOGS, id) or '') .. ARGV[6]
local _, lines = string.gsub(log, '\n', '\n')
local first = 1
while lines > limit or #log - first + 1 > bytes do
  local stop = string.find(log, '\n', first, true)
  if not stop then break end
  first, lines = stop + 1, lines - 1
end
call('HSET', LOGS, id, string.sub(log, first))
return {'ok'}
