#!lua flags=allow-oom
-- Abandons an unfinished upload: for its shipper, or for any process once its
-- lease has expired, unless Redis was away then. Its segments are then freed by free.lua. Subscribers that have
-- counted parts of it keep them, and get a note. The upload of a stream, which can't be
-- shipped again, ends instead: what is in Redis is counted, and the file reported as cut off.
-- KEYS: the declared keys, then the problems of each subscriber
-- ARGV: shipper, empty: only if the lease has expired; shipment; file id; how
-- long, in ms, the wake stream of its readers stays; reship, '1': the file is
-- expected to be shipped again, and is reported until then; note; subscribers
-- Returns 1 if the upload is abandoned (now or before), 2 if one of the subscribers
-- has counted a part of it, else 0.
-- @include channel
-- @include signal
-- @include uploaded
-- @include amnesty
local shipper, shipment, id, stays, reship, note = unpack(ARGV, 1, 6)
local owner, last, state, raw = unpack(call('HMGET', FILE, 'by', 'ship', 'state', 'raw'))
if last ~= shipment then return 0 end
if state ~= 'abandoned' then
  local now = clock_ms()
  if state ~= 'uploading' then return 0 end
  if owner ~= shipper then
    local lease = call('ZSCORE', UPLOADS, id)
    if shipper ~= '' or alive(lease, now) or spared(lease, now) then return 0 end
  end
  if call('HGET', FILE, 'stream') == '1' then
    call('HSET', FILE, 'cut', note == '' and 'its shipper stopped or died before its end' or note)
    end_upload(id, shipment, raw)
    return 0
  end
  call('HSET', FILE, 'state', 'abandoned')
  call('XADD', FILE_WAKE, 'MAXLEN', 1, raw .. '-3', 'abandoned', 1)
  call('PEXPIRE', FILE_WAKE, stays)
  if reship == '1' then call('ZADD', ABANDONED, int(now), id) end
  call('ZREM', UPLOADS, id)
  call('SADD', SPENT, id)
  signal('abandoned', 'file')
end
local outcome = 1
for i = 7, #ARGV do
  if call('HGET', FILE, 'part:' .. ARGV[i]) == shipment then
    call('HSET', FILE, 'cut:' .. ARGV[i], note)
    call('SADD', KEYS[i + 3], id)
    outcome = 2
  end
end
return outcome
