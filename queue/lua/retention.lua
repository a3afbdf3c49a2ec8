-- Sets the retention of a queue. It can be repeated.
-- ARGV: for dead jobs, then for results: number of jobs, bytes, age in ms; 0 means the
-- default; then the version to be replaced, those six with dots between them, or '' for any
-- Returns {'ok'}; {'moved'} if there is another version.
-- @include queue
local fields = {}
for _, archive in ipairs({'dead', 'results'}) do
  for _, what in ipairs({'_most', '_most_bytes', '_most_ms'}) do
    fields[#fields + 1] = archive .. what
  end
end
local stored = call('HMGET', META, unpack(fields))
for i = 1, #fields do stored[i] = stored[i] or '0' end
local version = table.concat(stored, '.')
if version == table.concat(ARGV, '.', 1, #fields) then return {'ok'} end
if ARGV[#fields + 1] ~= '' and ARGV[#fields + 1] ~= version then return {'moved'} end
write_format()
for i, name in ipairs(fields) do
  if ARGV[i] == '0' then
    call('HDEL', META, name)
  else
    call('HSET', META, name, ARGV[i])
  end
end
return {'ok'}
