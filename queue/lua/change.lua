-- Changes one job.
-- ARGV: 'delete', 'cancel' or 'retry', id, optionally the state that the job must
--       be in
--    or 'reschedule', id, time in ms
-- Returns {'ok', state in which the job was}; {'none'}; {'state', state of the
-- job}; {'malformed', state}; {'duplicate', state, unique key, its holder}.
-- @include queue operate
function operate.reschedule(job)
  if job.state ~= 'delayed' then return 'state' end
  if not job.record then return 'malformed' end
  delay(job.id, job.record, tonumber(ARGV[3]))
  return 'ok'
end

local job = locate(ARGV[2])
if not job then return {'none'} end
if ARGV[1] ~= 'reschedule' and ARGV[3] and job.state ~= ARGV[3] then return {'state', job.state} end
local word, key, owner = operate[ARGV[1]](job)
return {word, job.state, key or '', owner or ''}
