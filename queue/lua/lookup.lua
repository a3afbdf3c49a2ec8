-- Reads a job.
-- ARGV: id
-- Returns {'ok', the job in the form of append_job()}; {'none'}.
-- @include queue locate
local job = locate(ARGV[1])
if not job then return {'none'} end
local out = {'ok'}
append_job(out, job)
return out
