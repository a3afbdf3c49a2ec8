-- Sets the retention of a queue.
-- ARGV: for dead jobs, then for results: number of jobs, bytes, age in ms; 0 means the
-- default
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
