-- Drops entries of a person's list, unless they were written again meanwhile.
-- KEYS[1] the list (sorted set)  KEYS[2] its wake-up stream
-- ARGV[1] chat  ARGV[2] when it was written, as index_list.lua told, and so on
-- Returns {'ok'}

for i = 1, #ARGV - 1, 2 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return {'ok'}
