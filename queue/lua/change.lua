-- Changes one job.
-- ARGV: 'delete', 'cancel' or 'retry', id, optionally the state that the job must be
--       in
--    or 'reschedule', id, time in ms
--    or 'priority', id, letter of the priority
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

local VALUED = {reschedule = true, priority = true} -- the third argument is no state
local job = locate(ARGV[2])
if not job then return {'none'} end
if not VALUED[ARGV[1]] and ARGV[3] and job.state ~= ARGV[3] then return {'state', job.state} end
local word, key, owner = operate[ARGV[1]](job, ARGV[3])
return {word, job.state, key or '', owner or ''}
