-- Ends a lease. What the worker still holds is left to recovery.
-- ARGV: worker
-- Returns {'ok'}, also when the lease has ended before.
-- @include queue
if call('ZREM', LEASES, ARGV[1]) == 0 then return {'ok'} end
for line = 1, LINES do
  if call('EXISTS', KEYS[line]) == 1 then
    local held = redis.pcall('XPENDING', KEYS[line], GROUP, '-', '+', 1, ARGV[1])
    if not held.err then
      if held[1] then
        -- It ends by its own will: none of its jobs is a suspect.
        call('ZADD', TOMBS, int(now), ARGV[1])
        call('HSET', ALONE, ARGV[1], 'none')
        return {'ok'}
      end
      -- Only now that nothing is pending: this would drop it silently.
      call('XGROUP', 'DELCONSUMER', KEYS[line], GROUP, ARGV[1])
    end
  end
end
call('HDEL', WORKERS, ARGV[1])
call('HDEL', ALONE, ARGV[1])
return {'ok'}
