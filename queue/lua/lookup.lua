-- Looks a job up.
-- ARGV: id
-- Returns {'ok', and the job as give() says}; {'none'}.
-- @include queue locate
local job = locate(ARGV[1])
if not job then return {'none'} end
local out = {'ok'}
give(out, job)
return out
