-- Fires a schedule now, on request of a person. It can be repeated: a repeated call
-- finds its token among the last firings.
-- ARGV: name, version that was read, token, time in ms, headers of the job
-- Returns {'ok', id of the job, or '=' and the id of the job that holds the
-- unique key}; {'moved'}; {'damaged'}.
-- @include queue schedule_job
local name, token = ARGV[1], ARGV[3]
for _, line in ipairs(firings_of(name)) do
  local id, of = string.match(line, '^%S+ %S+ (%S+) (%S+)$')
  if of == token then return {'ok', id} end
end
local record = call('HGET', SCHEDULES, name)
if not record or version_of(record) ~= ARGV[2] then return {'moved'} end
local id = fire(name, record, 4, token)
if not id then return {'damaged'} end
return {'ok', id}
