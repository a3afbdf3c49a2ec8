-- Asks to be told of the end of a job, if it has not ended.
-- ARGV: id, ms for which the question stands
-- Returns {'ok', 1 when it has ended, then the job as give() says, else 0};
-- {'none'}.
-- @include queue locate
local job = locate(ARGV[1])
if not job then return {'none'} end
if job.state ~= 'dead' and job.state ~= 'finished' then
  call('ZADD', WAITED, int(now + tonumber(ARGV[2])), job.id)
  return {'ok', 0}
end
local out = {'ok', 1}
give(out, job)
return out
