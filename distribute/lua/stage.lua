#!lua flags=allow-oom
-- Stages cells of a claimed file. They are not valid until they are sealed.
-- ARGV: file id; token; pairs (cell name, number), at most 500
-- Returns 1, or 0 if the claim is lost. Repeating it changes nothing.
-- @include channel
local id, token = unpack(ARGV, 1, 2)
if call('HGET', OWNERS, id) ~= token then return 0 end
for i = 3, #ARGV, 2 do call('HSET', STAGED, ARGV[i], ARGV[i + 1]) end
return 1
