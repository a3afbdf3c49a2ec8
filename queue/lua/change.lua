-- Changes one job.
-- ARGV: 'delete', 'cancel' or 'retry', id, optionally the state that the job must be
--       in
--    or 'reschedule', id, time in ms
--    or 'priority', id, letter of the priority, optionally such a state
-- Returns {'ok', state in which the job was}; {'none'}; {'state', state of the
-- job}; {'malformed', state}; {'same', state} if it has the priority; {'duplicate', state,
-- unique key, its holder}.
-- @include queue operate
function operate.reschedule(job, at)
  if job.state ~= 'delayed' then return 'state' end
  if not job.record then return 'malformed' end
  delay(job.id, job.record, tonumber(at))
  return 'ok'
end

local STATES = {reschedule = 4, priority = 4} -- the arguments with the state, if not the third
local job = locate(ARGV[2])
if not job then return {'none'} end
local wanted = ARGV[STATES[ARGV[1]] or 3]
if wanted and job.state ~= wanted then return {'state', job.state} end
local word, key, owner = operate[ARGV[1]](job, ARGV[3])
return {word, job.state, key or '', owner or ''}
