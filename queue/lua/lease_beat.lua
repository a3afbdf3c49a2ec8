-- Renews a lease.
-- ARGV: worker, lease in ms, with which it was opened
-- Returns {'ok', 1 if there are jobs to recover, else 0}; {'lost'}.
-- Only a member of leases is renewed: a worker that was declared dead stays dead. One that
-- has expired but is still a member may be renewed, since no other worker has its jobs.
-- Idle workers send little else: this takes few commands, so when_full, which takes one
-- more, is included only if Redis is full.
-- @include queue amnesty
-- @lazy allow_when_full when_full
local worker, length = ARGV[1], tonumber(ARGV[2])
local until_ms = int(now + length)
local changed = redis.pcall('ZADD', LEASES, 'XX', 'CH', until_ms, worker)
if type(changed) == 'table' then
  allow_when_full()
  changed = call('ZADD', LEASES, 'XX', 'CH', until_ms, worker)
end
if changed == 0 and call('ZSCORE', LEASES, worker) ~= until_ms then return {'lost'} end
note_renewal(length)
local first = call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')
local expired = tonumber(first[2]) < now and call('ZRANGEBYSCORE', LEASES, '-inf', latest_buried(), 'LIMIT', 0, 1)[1]
if expired or call('EXISTS', TOMBS) == 1 then return {'ok', 1} end
return {'ok', 0}
