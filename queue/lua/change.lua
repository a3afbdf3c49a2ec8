-- Does something to one job.
-- ARGV: 'delete', 'cancel' or 'retry', id
--    or 'reschedule', id, time in ms
-- Returns {'ok', state in which the job was}; {'none'}; {'state', that it is
-- in}; {'malformed', state}; {'duplicate', state, unique key, its holder};
-- {'newer', format}.
function operate.reschedule(job)
  if job.state ~= 'delayed' then return 'state' end
  if not job.record then return 'malformed' end
  delay(job.id, job.record, tonumber(ARGV[3]))
  return 'ok'
end

local job = locate(ARGV[2])
if not job then return {'none'} end
local word, key, owner = operate[ARGV[1]](job)
return {word, job.state, key or '', owner or ''}
