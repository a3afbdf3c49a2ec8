-- What the scripts share that book room in the window.

-- oldest returns the oldest file that is neither done nor abandoned.
local function oldest()
  for start = 0, call('ZCARD', OPEN), 100 do
    for _, id in ipairs(call('ZRANGE', OPEN, start, start + 99)) do
      if call('SISMEMBER', SPENT, id) == 0 then return id end
    end
  end
end

-- reserved returns the bytes that the file id must leave free: the oldest file may always
-- hold its reserve, so that it can be uploaded and counted to its end whatever the others
-- hold.
local function reserved(id)
  local first = oldest()
  if not first or first == id then return 0 end
  return math.max(0, tonumber(call('HGET', RESERVES, first) or '0') - tonumber(call('HGET', HELD, first) or '0'))
end

-- first_in_line reports whether no other living shipper waits to admit a file since
-- longer than this one.
local function first_in_line(shipper, now)
  for _, other in ipairs(call('ZRANGE', LINE, 0, 99)) do
    if other == shipper then break end
    if alive(call('ZSCORE', LEASES, other), now) then return false end
    call('ZREM', LINE, other)
  end
  return true
end

-- hold adds bytes to what a file uses of the window.
local function hold(id, bytes)
  call('HINCRBY', CHANNEL, 'used', bytes)
  call('HINCRBY', HELD, id, bytes)
end
