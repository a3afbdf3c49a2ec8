#!lua flags=allow-oom
-- Begins to reset a subscriber: its next epoch starts, with no sums and no claims. The caller then
-- deletes its counts and what it has counted of files in steps, with discard.lua, and any process can
-- go on with that. Until removed.lua, no file is admitted and no report begins. Refused while a file
-- is in Redis: a worker may count it.
-- ARGV: name; its epoch as read; the next epoch
-- Returns 1, also when repeated; 0: a file is open; -1: there is no such subscriber; -2: another
-- reset came first, or is not complete.
-- @include channel
-- @include epoch
-- @include signal
local name, epoch, next_epoch = unpack(ARGV)
if call('HEXISTS', SUBSCRIBERS, name) == 0 then return -1 end
if epoch_of() == next_epoch then return 1 end
if epoch_of() ~= epoch or call('HEXISTS', REMOVED, name) == 1 then return -2 end
if call('ZCARD', OPEN) > 0 then return 0 end

local kept = {v = true, since = true, seen = true, source = true, visitors = true, oldest = true, dropped = true, folds = true}
for _, field in ipairs(call('HKEYS', SUBSCRIBER)) do
  if not kept[field] then call('HDEL', SUBSCRIBER, field) end
end
call('HSET', SUBSCRIBER, 'epoch', next_epoch)
call('HINCRBY', SUBSCRIBER, 'folds', 1)
call('UNLINK', CLAIMS, OWNERS)
call('HSET', REMOVED, name, 'reset ' .. next_epoch)
call('HINCRBY', CHANNEL, 'resets', 1)
signal('reset', 'subscriber')
return 1
