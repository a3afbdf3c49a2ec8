-- Marks an upload as complete and tells the readers that no block follows.
--
-- KEYS 1 file   2 file's wake stream   3 uploads
-- ARGV 1 shipper   2 shipment   3 length of the whole upload   4 file id
-- Returns 1, also when repeated; 0 if the shipment is no longer the shipper's.
local file = redis.call('HMGET', KEYS[1], 'by', 'ship', 'state', 'raw')
if file[1] ~= ARGV[1] or file[2] ~= ARGV[2] then
	return 0
end
if file[3] == 'uploading' and file[4] == ARGV[3] then
	redis.call('HSET', KEYS[1], 'state', 'uploaded')
	redis.call('ZREM', KEYS[3], ARGV[4])
	redis.call('XADD', KEYS[2], 'MAXLEN', 1, ARGV[3] .. '-1', 'complete', 1)
	return 1
end
return (file[3] == 'uploaded' or file[3] == 'done') and 1 or 0
