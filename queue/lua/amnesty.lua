-- The amnesty after an outage: while no worker could reach Redis, the leases of living
-- workers expire as well. META has the time when a lease was last opened or renewed, or when a
-- worker recovered jobs of the queue, as renewed. Such an action that finds it older than 0.6
-- times the longest lease starts an amnesty, in which no lease is buried that had not expired
-- at that time: its worker may be about to renew it. An amnesty has a start as well as an end,
-- so that it does not last longer if the clock goes back.

-- read_amnesty returns the expiry after which leases are spared, nil if there is no amnesty
-- now.
local function read_amnesty()
  local begun, ends, spares = unpack(call('HMGET', META, 'amnesty_begun', 'amnesty_ends', 'amnesty_spares'))
  if begun and tonumber(begun) <= now and now < tonumber(ends) then return tonumber(spares) end
end

-- silence returns the length of the longest lease if no worker has acted for so long that
-- Redis may have been out of reach, else nil. The longest lease is not shorter
-- than at_least.
local function silence(at_least)
  local silent = renewed and now - tonumber(renewed) or 0
  if silent <= 0.6 * at_least then return nil end -- as nearly always
  local longest = tonumber(call('ZRANGE', LENGTHS, -1, -1, 'WITHSCORES')[2]) -- nil without a lease
  return longest and silent > 0.6 * longest and longest
end

-- note_renewal records that a worker acts now. After a silence it starts an amnesty of 0.8
-- times the longest lease and 1 s, unless there is one.
local function note_renewal(at_least)
  local longest = silence(at_least)
  if longest and not read_amnesty() then
    local ends = now + math.ceil(0.8 * longest) + 1000
    call('HSET', META, 'amnesty_begun', int(now), 'amnesty_ends', int(ends), 'amnesty_spares', renewed)
  end
  renewed = int(now)
  call('HSET', META, 'renewed', renewed)
end

-- latest_buried returns the latest expiry, as a bound of a range, with which a lease is
-- buried. It requires that note_renewal was called, which notices a silence.
local function latest_buried()
  local spared = read_amnesty()
  if spared and spared < now then return int(spared) end
  return '(' .. int(now)
end
