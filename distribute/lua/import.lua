-- Begins an import of a source into a subscriber: what it had counted at one commit. No report has it
-- until it is switched to.
-- ARGV: subscriber; its settings and epoch, as read; import; lease in ms; source, its epoch and commit;
-- maximum of sources; pairs (field of the import, value)
-- Returns 1, also when repeated; 2: the subscriber has this commit of the source, or a later one; 3: it
-- has the maximum of sources; 0: it has other settings now, was reset, or is removed.
-- @include channel
-- @include epoch
-- @include imports
-- @include newer
local subscriber, settings, epoch, import, lease, source, source_epoch, source_commit, max = unpack(ARGV, 1, 9)
if not is_same(subscriber, settings, epoch) then return 0 end
local have = call('HGET', SOURCES, source)
if not is_newer(have, source_epoch, source_commit) then return 2 end
if not have and call('HLEN', SOURCES) >= tonumber(max) then return 3 end
local now = clock_ms()
call('HSET', IMPORTS, import, int(now + lease))
call('HSET', IMPORT, 'v', 5, 'source', source, 'since', int(now), unpack(ARGV, 10))
return 1
