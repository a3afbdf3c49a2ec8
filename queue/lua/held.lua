-- Lists the entries that a worker holds.
-- ARGV: worker, line and entry after which to continue (1 and '0' at first), maximum number
-- Returns {'ok', line and entry after which to continue, for each entry its line and id};
-- {'lost'}. A line above the last one means that there are no more.
-- @include queue worker
local line, after, limit = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local out, left = {'ok', line, after}, limit
while line <= LINES and left > 0 do
  if call('EXISTS', KEYS[line]) == 1 then
    -- One more, since the range includes its start: not every server knows '(' here.
    local held = redis.pcall('XPENDING', KEYS[line], GROUP, after, '+', left + 1, worker)
    for _, pending in ipairs(held.err and {} or held) do
      if pending[1] ~= after and left > 0 then
        out[#out + 1], out[#out + 2] = line, pending[1]
        after, left = pending[1], left - 1
      end
    end
  end
  if left > 0 then line, after = line + 1, '0' end
end
out[2], out[3] = line, after
return out
