-- Stores cells of one group of an import that is not switched to yet, and renews its lease.
-- KEYS: the declared keys, then the totals key of the group
-- ARGV: subscriber; its settings and epoch, as read; import; lease in ms; group; its day, '': none; how
-- many cells of it were moved into others; pairs (number, member), at most 500
-- Returns 1, also when repeated; 0: the lease ended, or the subscriber is not as it was read.
-- @include channel
-- @include epoch
-- @include imports
local subscriber, settings, epoch, import, lease, group, day, moved = unpack(ARGV, 1, 8)
local totals = KEYS[6]
local now = clock_ms()
if not is_same(subscriber, settings, epoch) or not alive(call('HGET', IMPORTS, import), now) then return 0 end
call('HSET', IMPORTS, import, int(now + lease))
call('ZADD', IMPORT_GROUPS, moved, group)
if day ~= '' then call('ZADD', IMPORT_DAYS, 0, day) end
if ARGV[9] then call('ZADD', totals, unpack(ARGV, 9)) end
return 1
