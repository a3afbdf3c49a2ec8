-- Drops entries of a person's list, unless they were written again since.
-- KEYS: the list (sorted set), its wake-up stream
-- ARGV[1] chat  ARGV[2] time it was written, from list_read.lua, and so on
-- Returns {'ok'}

for i = 1, #ARGV - 1, 2 do
  local score = redis.call('ZSCORE', LIST, ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    redis.call('ZREM', LIST, ARGV[i])
  end
end
return {'ok'}
