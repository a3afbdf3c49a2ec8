-- Adds the jobs of a request, all or none, unless the request has added them before.
-- ARGV: id of the request, 16 bytes of a digest of its jobs, 8 bytes of a token of the call, '1' if
--       no other requests belong to it, groups as in enqueue_groups.lua
-- Returns {'ok', 1 if another call has added the jobs else 0, ids as of enqueue.lua, which may be
-- fewer or more if they were added before}; {'other'} if other jobs were added by a request with the id.
-- @include queue delay enqueue_groups
local KEEP_MS, MAX_REQUESTS, MAX_BYTES = 86400000, 100000, 33554432
local id, digest, token, whole = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'

local known = call('HGET', IDEM, id)
if known and tonumber(call('ZSCORE', IDEM_EXPIRY, id) or 0) > now then
  if string.sub(known, 1, 16) ~= digest then return {'other'} end
  local ids = {'ok', string.sub(known, 17, 24) == token and 0 or 1}
  for one in string.gmatch(string.sub(known, 25), '%S+') do ids[#ids + 1] = one end
  return ids
end

local ids = add_groups({'ok', 0}, 5)
local added = not whole
for i = 3, #ids do added = added or string.sub(ids[i], 1, 1) ~= '=' end
if not added then return ids end -- the same request can add them later

-- The field '' has the size of the others. Records and keys end together.
local value = digest .. token .. table.concat(ids, ' ', 3)
local size = call('HINCRBY', IDEM, '', #value - (known and #known or 0))
call('HSET', IDEM, id, value)
call('ZADD', IDEM_EXPIRY, int(now + KEEP_MS), id)
call('PEXPIRE', IDEM, KEEP_MS)
call('PEXPIRE', IDEM_EXPIRY, KEEP_MS)

local over = call('HLEN', IDEM) - 1 - MAX_REQUESTS
local oldest = call('ZRANGE', IDEM_EXPIRY, 0, (over > 0 or size > MAX_BYTES) and 99 or 3, 'WITHSCORES')
for i = 1, #oldest, 2 do
  if tonumber(oldest[i + 1]) > now and over <= 0 and size <= MAX_BYTES then break end
  size = call('HINCRBY', IDEM, '', -call('HSTRLEN', IDEM, oldest[i]))
  call('HDEL', IDEM, oldest[i])
  call('ZREM', IDEM_EXPIRY, oldest[i])
  over = over - 1
end
return ids
