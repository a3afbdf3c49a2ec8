-- Renews a lease.
-- ARGV: worker, lease in ms
-- Returns {'ok', 1 if there are jobs to recover, else 0}; {'lost'}.
-- Only a member of leases is renewed: a worker that was declared dead stays dead. One that
-- has expired but is still a member may be renewed, since no other worker has its jobs.
-- @include queue when_full
local until_ms = int(now + tonumber(ARGV[2]))
if call('ZADD', LEASES, 'XX', 'CH', until_ms, ARGV[1]) == 0 and call('ZSCORE', LEASES, ARGV[1]) ~= until_ms then
  return {'lost'}
end
local first = call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')
if tonumber(first[2]) < now or call('EXISTS', TOMBS) == 1 then return {'ok', 1} end
return {'ok', 0}
