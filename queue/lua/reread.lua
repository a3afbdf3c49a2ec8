-- Returns jobs that a worker holds and does not know, because an answer of fetch was lost
-- or because Redis has lost writes.
-- ARGV: worker, bytes after which to stop, for each job its line and entry
-- Returns {'ok', now, groups} as fetch does, without the jobs that it no longer holds;
-- {'lost'}.
-- @include queue worker
local bytes_left = tonumber(ARGV[2])
local out = {'ok', int(now)}
for i = 3, #ARGV, 2 do
  if bytes_left <= 0 then break end
  local line, entry = tonumber(ARGV[i]), ARGV[i + 1]
  local held = redis.pcall('XPENDING', KEYS[line], GROUP, entry, entry, 1, worker)
  if not held.err and held[1] then
    local found = call('XRANGE', KEYS[line], entry, entry)[1]
    local fields, n = found and found[2] or {}, #out
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = line, 1, '', entry, #fields
    for f = 1, #fields do
      out[n + 5 + f] = fields[f]
      bytes_left = bytes_left - #fields[f]
    end
  end
end
return out
