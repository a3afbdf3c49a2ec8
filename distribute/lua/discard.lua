#!lua flags=allow-oom
-- Deletes some of what a removed subscriber left, or one that was reset, unless its removal or reset
-- is complete: then there may be new counts of this name.
-- KEYS: the declared keys, then keys to delete, at most 100
-- ARGV: name; number of the removal, or of the reset; fields to delete of the file's record
-- Returns 1, or 0 if it is complete.
-- @include channel
local name, number = unpack(ARGV, 1, 2)
if call('HGET', REMOVED, name) ~= number then return 0 end
for i = 3, #KEYS do call('UNLINK', KEYS[i]) end
for i = 3, #ARGV do call('HDEL', FILE, ARGV[i]) end
return 1
