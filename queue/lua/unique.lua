-- Functions for unique keys.

-- holder_of_key returns the holder of a unique key, unless its duration is over.
local function holder_of_key(key)
  local owner = call('HGET', UNIQUE, key)
  if not owner then return nil end
  local expiry = call('ZSCORE', UNIQUE_EXPIRY, key)
  if expiry and tonumber(expiry) <= now then return nil end
  return owner
end

-- hold makes a job the holder of a unique key, and deletes some expired keys.
local function hold(key, id, ms)
  call('HSET', UNIQUE, key, id)
  if ms == '' then
    call('ZREM', UNIQUE_EXPIRY, key)
  else
    call('ZADD', UNIQUE_EXPIRY, int(now + tonumber(ms)), key)
  end
  for _, old in ipairs(call('ZRANGEBYSCORE', UNIQUE_EXPIRY, '-inf', int(now), 'LIMIT', 0, 4)) do
    call('HDEL', UNIQUE, old)
    call('ZREM', UNIQUE_EXPIRY, old)
  end
end
