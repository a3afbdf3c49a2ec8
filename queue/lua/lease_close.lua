-- Ends a lease. Jobs that the worker still holds are left to recovery.
-- ARGV: worker
-- Returns {'ok', 1 if the worker held jobs, else 0}; {'ok', 0} if there is no such lease.
-- @include queue
if call('ZREM', LEASES, ARGV[1]) == 0 then return {'ok', 0} end
call('ZREM', LENGTHS, ARGV[1])
-- A native fetch whose answer the worker no longer awaits must not run after this: it watches
-- the tombstones.
call('ZADD', TOMBS, int(now), ARGV[1])
call('ZREM', TOMBS, ARGV[1])
for line = 1, LINES do
  if call('EXISTS', KEYS[line]) == 1 then
    local held = redis.pcall('XPENDING', KEYS[line], GROUP, '-', '+', 1, ARGV[1])
    if not held.err then
      if held[1] then
        -- It did not crash: none of its jobs is quarantined.
        call('ZADD', TOMBS, int(now), ARGV[1])
        call('HSET', COHORTS, ARGV[1], 'closed')
        return {'ok', 1}
      end
      -- Only if nothing is pending: the command would drop it silently.
      call('XGROUP', 'DELCONSUMER', KEYS[line], GROUP, ARGV[1])
    end
  end
end
call('HDEL', ALONE, ARGV[1])
return {'ok', 0}
