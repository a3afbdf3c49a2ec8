#!lua flags=allow-oom
-- Deletes some of an import that was replaced, or that was not completed in the time of its lease.
-- From the first call on it can't be completed.
-- KEYS: the declared keys, then keys to delete, at most 100
-- ARGV: import; '1': nothing else is left of it
-- Returns 1; 0 if its lease has not ended, or nothing is left of it.
-- @include channel
local import, last = unpack(ARGV)
local lease = call('HGET', IMPORTS, import)
if not lease or alive(lease, clock_ms()) then return 0 end
call('HSET', IMPORTS, import, 0)
for i = 2, #KEYS do call('UNLINK', KEYS[i]) end
if last == '1' then call('HDEL', IMPORTS, import) end
return 1
