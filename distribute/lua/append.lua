-- Appends a block to a segment and wakes those who read the file.
--
-- KEYS 1 file   2 segment   3 file's wake stream
-- ARGV 1 shipper   2 shipment   3 length of the segment before
--      4 length of the whole upload after   5 block
-- Returns 1, also when the block is there already from an earlier try; 0 if the
-- shipment is no longer the shipper's; -1 if the segment has another length.
local file = redis.call('HMGET', KEYS[1], 'by', 'ship', 'state')
if file[1] ~= ARGV[1] or file[2] ~= ARGV[2] or file[3] ~= 'uploading' then
	return 0
end
local length, before = redis.call('STRLEN', KEYS[2]), tonumber(ARGV[3])
if length == before + #ARGV[5] then
	return 1
end
if length ~= before then
	return -1
end
redis.call('APPEND', KEYS[2], ARGV[5])
redis.call('HSET', KEYS[1], 'raw', ARGV[4])
redis.call('XADD', KEYS[3], 'MAXLEN', 1, ARGV[4] .. '-0', 'more', 1)
return 1
