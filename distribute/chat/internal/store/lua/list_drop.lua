-- Drops entries of a person's list, unless they were written again since. Young entries
-- stay: another process may be between the two writes of joining. If there are no others, the
-- list expires when they are old.
-- KEYS: the list (sorted set), its wake-up stream
-- ARGV[1] age of an old entry in ms
-- ARGV[2] chat  ARGV[3] time it was written, from list_read.lua  ARGV[4] 1 if it is old
-- and so on
-- Returns {'ok'}

local young = 0
for i = 2, #ARGV - 2, 3 do
  local score = redis.call('ZSCORE', LIST, ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    if ARGV[i + 2] == '1' then
      redis.call('ZREM', LIST, ARGV[i])
    else
      young = young + 1
    end
  end
end
if young > 0 and redis.call('ZCARD', LIST) == young then redis.call('PEXPIRE', LIST, ARGV[1]) end
return {'ok'}
