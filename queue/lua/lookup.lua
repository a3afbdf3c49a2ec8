-- Reads a job.
-- ARGV: id
-- Returns {'ok', the job in the form of give()}; {'none'}.
-- @include queue locate
local job = locate(ARGV[1])
if not job then return {'none'} end
local out = {'ok'}
give(out, job)
return out
