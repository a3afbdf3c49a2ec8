-- Drops an entry of a member's list, unless it was written again meanwhile.
-- KEYS[1] the list (sorted set)  KEYS[2] its wake-up stream
-- ARGV[1] chat  ARGV[2] when it was written, as index_list.lua told
-- Returns {'ok'}

local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if score and tonumber(score) == tonumber(ARGV[2]) then
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return {'ok'}
