-- Admits one shipment of a file to the window, in the order of asking.
--
-- KEYS 1 channel   2 open files   3 waiting line   4 shipper leases
--      5 heads   6 files   7 file   8 abandoned files   9 uploads
-- ARGV 1 shipper   2 file id   3 index key of the head   4 what the index held
--      5 last shipment that was seen of the file, 0: none
--      6 head, empty: keep the one that is recorded
--      7 cost in bytes   8 lease in ms
--      then field, value, … of the record: name, codec, size, base, segment …
-- Returns {'admitted', shipment}
--      or {'changed'}: the index or the record is not as it was seen; look again
--      or {'large', window}: the window can never hold it
--      or {'full', bytes in use}: the window has no room
--      or {'line', bytes in use}: others ask since longer
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local text = string.format('%.0f', ms)

local file = redis.call('HMGET', KEYS[7], 'ship', 'state', 'by', 'admitted')
local ship, state = file[1] or '0', file[2]
if file[3] == ARGV[1] and state == 'uploading' and tonumber(ship) == tonumber(ARGV[5]) + 1 then
	return { 'admitted', tonumber(ship) } -- a repeated call
end
local function changed()
	redis.call('ZREM', KEYS[3], ARGV[1]) -- who asks for nothing now keeps nobody waiting
	return { 'changed' }
end
if ship ~= ARGV[5] or (redis.call('HGET', KEYS[5], ARGV[3]) or '') ~= ARGV[4] then
	return changed()
end
if state and state ~= 'done' and state ~= 'abandoned' or redis.call('ZSCORE', KEYS[2], ARGV[2]) then
	return changed()
end

local window = tonumber(redis.call('HGET', KEYS[1], 'window') or '0')
if tonumber(ARGV[7]) > window then
	redis.call('ZREM', KEYS[3], ARGV[1])
	return { 'large', window }
end

-- The line: first come, first served, as long as whoever is first lives.
local used = tonumber(redis.call('HGET', KEYS[1], 'used') or '0')
if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
	redis.call('ZADD', KEYS[3], string.format('%.0f', redis.call('HINCRBY', KEYS[1], 'turn', 1)), ARGV[1])
end
for _, other in ipairs(redis.call('ZRANGE', KEYS[3], 0, 99)) do
	if other == ARGV[1] then
		break
	end
	local lease = redis.call('ZSCORE', KEYS[4], other)
	if lease and tonumber(lease) > ms then
		return { 'line', used }
	end
	redis.call('ZREM', KEYS[3], other)
end
if used + tonumber(ARGV[7]) > window then
	return { 'full', used }
end

redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('HINCRBY', KEYS[1], 'used', ARGV[7])
if not file[1] then
	local index = ARGV[4]
	redis.call('HSET', KEYS[5], ARGV[3], index == '' and ARGV[2] or index .. ' ' .. ARGV[2])
	redis.call('HSET', KEYS[7], 'v', 1, 'first', ARGV[3])
end
local shipment = tonumber(ship) + 1
redis.call('HSET', KEYS[7], 'ship', shipment, 'state', 'uploading', 'by', ARGV[1], 'cost', ARGV[7],
	'admitted', text, 'raw', 0)
-- An upload never outlives its shipper: whoever finds the shipper dead finds
-- the upload dead too.
local till = string.format('%.0f', ms + ARGV[8])
redis.call('ZADD', KEYS[9], till, ARGV[2])
redis.call('ZADD', KEYS[4], 'XX', 'GT', till, ARGV[1])
if ARGV[6] ~= '' then
	redis.call('HSET', KEYS[7], 'head', ARGV[6])
end
for i = 9, #ARGV, 2 do
	redis.call('HSET', KEYS[7], ARGV[i], ARGV[i + 1])
end
redis.call('ZADD', KEYS[2], text, ARGV[2])
redis.call('ZADD', KEYS[6], text, ARGV[2])
redis.call('ZREM', KEYS[8], ARGV[2])
return { 'admitted', shipment }
