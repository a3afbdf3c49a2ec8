-- Returns the function that adds the entries of a fresh line that are not in COUNTS, for
-- tidy.lua and enqueue_plain.lua.
return function(key, today)
  local n, day, added, group = uncounted(key, today)
  if n == 0 then return end
  redis.call('HINCRBY', COUNTS, int(day) .. ':enqueued', n)
  redis.call('HINCRBY', COUNTS, 'total:enqueued', n)
  if group then
    redis.call('XGROUP', 'SETID', key, 'counted', '$', 'ENTRIESREAD', int(added))
  else
    redis.call('XGROUP', 'CREATE', key, 'counted', '$', 'ENTRIESREAD', int(added))
  end
end
