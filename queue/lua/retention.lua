-- Says how much a queue keeps.
-- ARGV: for the dead, then for results: how many jobs, how many bytes, for how
-- many milliseconds; 0 for what is so by default
-- Returns {'ok'}.
-- @include queue
write_format()
local at = 0
for _, archive in ipairs({'dead', 'results'}) do
  for _, what in ipairs({'_most', '_most_bytes', '_most_ms'}) do
    at = at + 1
    if ARGV[at] == '0' then
      call('HDEL', META, archive .. what)
    else
      call('HSET', META, archive .. what, ARGV[at])
    end
  end
end
return {'ok'}
