-- Stages counts of a claimed file. They are not valid until they are sealed.
-- ARGV: file id; claim; then cell, count, … (at most 500 cells)
-- Returns 1, or 0 if the claim is lost. Repeating it changes nothing.
-- @include channel
local id, claim = unpack(ARGV, 1, 2)
if call('HGET', OWNERS, id) ~= claim then return 0 end
for i = 3, #ARGV, 2 do call('HSET', STAGED, ARGV[i], ARGV[i + 1]) end
return 1
