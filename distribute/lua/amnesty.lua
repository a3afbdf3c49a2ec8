-- What the scripts share by which leases outlive an outage of Redis: no lease can be renewed
-- then. When no process has acted for longer than living ones need, an amnesty begins, in which
-- they renew their leases.

-- acts notes that a process acts, and within what time, in ms, the next one is due; nil: as
-- before.
local function acts(now, span)
  local beat, due = unpack(call('HMGET', CHANNEL, 'beat', 'due'))
  beat, due = tonumber(beat or '0'), tonumber(due or '0')
  if beat > 0 and now > due then
    call('HSET', CHANNEL, 'outage', int(beat), 'amnesty', int(now + 2 * (due - beat)))
  end
  call('HSET', CHANNEL, 'beat', int(now), 'due', int(math.max(due, now + (span or due - beat))))
end

-- share is the part of a lease in which each living process acts: it renews it after a third.
local share = 0.6

-- spared reports whether a lease that has expired, or false, ended during an outage, and its
-- holder may not have come back yet.
local function spared(lease, now)
  if not lease then return false end
  acts(now)
  local outage, amnesty = unpack(call('HMGET', CHANNEL, 'outage', 'amnesty'))
  return alive(amnesty, now) and tonumber(lease) > tonumber(outage)
end
