-- The beginning of the scripts that write. KEYS are those of keys.go. ARGV begins with the times
-- of the buckets: for each when it ends and when it expires, in ms since 1970.
-- @include int clock
local call, now = redis.call, clock_ms()
local FORMAT, SLACK_MS, KEEP_MS = '1', 120000, 31 * 86400000
local BUCKETS = {MINUTE, QUARTER, HOURS}

local stored = call('HGET', STATS, 'format')
if stored and stored ~= FORMAT then return {'format', stored} end
-- The caller computes the buckets from an earlier time of Redis: its clock may have been set.
if tonumber(ARGV[1]) > now + SLACK_MS then return {'clock', int(now)} end

-- each_bucket calls f with the key of each bucket that is still kept, and makes it expire.
local function each_bucket(f)
  for i, key in ipairs(BUCKETS) do
    if tonumber(ARGV[2 * i]) > now then
      f(key)
      call('PEXPIREAT', key, ARGV[2 * i])
    end
  end
end

-- keep makes a key without a bucket expire some time after the last write.
local function keep(key) call('PEXPIREAT', key, int(now + KEEP_MS)) end
