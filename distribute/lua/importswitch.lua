#!lua flags=allow-oom
-- Makes an import the counts of its source: reports that begin afterwards have it, and nothing of the
-- import that it replaces, which is then deleted by importdrop.lua. A report that began before is read
-- again.
-- ARGV: subscriber; its settings and epoch, as read; import; source, its epoch and commit
-- Returns 1, also when repeated; 2: the subscriber has this commit of the source, or a later one; 0:
-- the lease ended, or the subscriber is not as it was read.
-- @include channel
-- @include epoch
-- @include imports
-- @include newer
local subscriber, settings, epoch, import, source, source_epoch, source_commit = unpack(ARGV)
local have, new = call('HGET', SOURCES, source), source_epoch .. ' ' .. source_commit .. ' ' .. import
if have == new then return 1 end
if not is_same(subscriber, settings, epoch) then return 0 end
if not is_newer(have, source_epoch, source_commit) then return 2 end
if not alive(call('HGET', IMPORTS, import), clock_ms()) then return 0 end
call('HSET', SOURCES, source, new)
call('HDEL', IMPORTS, import)
if have then call('HSET', IMPORTS, string.match(have, '%S*$'), 0) end
call('HINCRBY', SUBSCRIBER, 'folds', 1)
return 1
