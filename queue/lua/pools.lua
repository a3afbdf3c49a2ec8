-- Lists the pools.
-- KEYS: as pool_beat.lua
-- Returns {'ok', for each pool its name, ms until its entry expires, its description}.
-- @include int clock
local now, out = clock_ms(), {'ok'}
local pools = redis.call('ZRANGE', EXPIRY, 0, -1, 'WITHSCORES')
for i = 1, #pools, 2 do
  local n = #out
  out[n + 1], out[n + 2] = pools[i], int(tonumber(pools[i + 1]) - now)
  out[n + 3] = redis.call('HGET', POOLS, pools[i]) or ''
end
return out
