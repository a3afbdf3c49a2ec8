-- Returns the jobs that a worker holds in a line, after an answer of fetch was lost.
-- ARGV: worker, line, entry after which to continue ('0' at first), maximum number
-- Returns the reply of fetch for that line; {'empty'}; {'lost'}.
-- @include queue worker
local line = tonumber(ARGV[2])
if call('EXISTS', KEYS[line]) == 0 then return {'empty'} end
local after, most = ARGV[3], tonumber(ARGV[4])
-- One more, since the range includes its start: not every server knows '(' here.
local held = redis.pcall('XPENDING', KEYS[line], GROUP, after, '+', most + 1, worker)
if held.err then return {'empty'} end
local out, entries = {'ok', int(now), line, 0, ''}, 0
for _, pending in ipairs(held) do
  if pending[1] ~= after and entries < most then
    local found = call('XRANGE', KEYS[line], pending[1], pending[1])
    local fields = found[1] and found[1][2] or {}
    out[#out + 1] = pending[1]
    out[#out + 1] = #fields
    for f = 1, #fields do out[#out + 1] = fields[f] end
    entries = entries + 1
  end
end
if entries == 0 then return {'empty'} end
out[4] = entries
return out
