-- Reports whether a worker may take jobs of a line by an XREADGROUP of its own: by the rules of
-- fetch.lua it would take the next ones from there, and no job has a unique key, which fetch.lua
-- would release, and the line has small jobs. The client watches what could change that, see
-- native_fetch.go.
-- ARGV: worker, line, 1 if a retry of the line's priority must come first, else 0, maximum number of
--       jobs
-- Returns {'ok', now}; {'no'}; {'lost'}.
-- @include queue worker order nodes
local line, retry_first, max_jobs = tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4])
if paused or call('EXISTS', UNIQUE) == 1 then return {'no'} end
local before = true
for _, other in ipairs(READ_ORDER) do
  if other == line then before = false end
  local matters = before or retry_first and is_retry(other) and letter_of(other) == letter_of(line)
  if matters and call('XLEN', KEYS[other]) > 0 then return {'no'} end
end
if max_jobs > 1 and not are_small(line, max_jobs) then return {'no'} end
return {'ok', int(now)}
