-- Requests a notification of the end of a job, unless it has ended.
-- ARGV: id, ms after which the request expires
-- Returns {'ok', 1 and the job in the form of append_job() if it has ended, else 0};
-- {'none'}.
-- @include queue locate
local job = locate(ARGV[1])
if not job then return {'none'} end
if job.state ~= 'dead' and job.state ~= 'finished' then
  call('ZADD', WAITED, int(now + tonumber(ARGV[2])), job.id)
  return {'ok', 0}
end
local out = {'ok', 1}
append_job(out, job)
return out
