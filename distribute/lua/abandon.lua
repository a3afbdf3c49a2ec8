#!lua flags=allow-oom
-- Abandons an unfinished upload: for its shipper, or for any process once its
-- lease has expired. Its segments are then freed by free.lua.
-- ARGV: shipper, empty: only if the lease has expired; shipment; file id; how
-- long, in ms, the wake stream of its readers stays; reship, '1': the file is
-- expected to be shipped again, and is reported until then
-- Returns 1 if the upload is abandoned (now or before), else 0.
-- @include channel
-- @include signal
local shipper, shipment, id, stays, reship = unpack(ARGV)
local owner, last, state, raw = unpack(call('HMGET', FILE, 'by', 'ship', 'state', 'raw'))
if last ~= shipment then return 0 end
if state == 'abandoned' then return 1 end
local now = clock_ms()
local orphaned = shipper == '' and not alive(call('ZSCORE', UPLOADS, id), now)
if state ~= 'uploading' or not (owner == shipper or orphaned) then return 0 end
call('HSET', FILE, 'state', 'abandoned')
call('XADD', FILE_WAKE, 'MAXLEN', 1, raw .. '-2', 'abandoned', 1)
call('PEXPIRE', FILE_WAKE, stays)
if reship == '1' then call('ZADD', ABANDONED, int(now), id) end
call('ZREM', UPLOADS, id)
call('SADD', SPENT, id)
signal('abandoned', 'file')
return 1
