#!lua flags=allow-oom
-- Claims for a subscriber the first unclaimed one of some announced files, and
-- returns the status of each file up to it. In the same script that file is claimed for
-- other subscribers that have not counted it, so that one worker reads it for all. One that
-- was removed, and created again with other settings, is left out.
-- KEYS: the declared keys; for each file: its record, its staged cells; for each other
-- subscriber: its claims, its owners, then its staged cells of each file
-- ARGV: subscriber; token; lease in ms; number of files; for each file: id, shipment;
-- then for each other subscriber: its name, its settings, '' if any will do
-- Returns {time now, {other subscriber, …}, status, status, …}: the other subscribers that
-- have the claim now, and one status for each file examined:
--      -1 finished: counted by the subscriber before, done, superseded or abandoned
--      0 claimed now, always the last
--      N held by another claim until that time
-- or an empty list if there is no such subscriber.
-- @include channel
local subscriber, token, lease = unpack(ARGV, 1, 3)
local files = tonumber(ARGV[4])
if call('HEXISTS', SUBSCRIBERS, subscriber) == 0 then return {} end
local now = clock_ms()
call('HSET', SUBSCRIBER, 'seen', int(now))

-- held_until returns the end of another claim's lease on a file, nil if there is none.
local function held_until(claims, owners, id)
  local held = call('ZSCORE', claims, id)
  if alive(held, now) and call('HGET', owners, id) ~= token then return held end
end

local function take(claims, owners, staged, id)
  call('ZADD', claims, int(now + lease), id)
  call('HSET', owners, id, token)
  call('UNLINK', staged) -- what a dead claim left
end

-- join claims the file with an index for other subscribers, and returns their names.
local function join(index, file, id, shipment)
  local joined = {}
  local first, others = 4 + 2 * files, (#ARGV - 4 - 2 * files) / 2
  for n = 0, others - 1 do
    local name, settings, key = ARGV[first + 2 * n + 1], ARGV[first + 2 * n + 2], first + n * (2 + files)
    local claims, owners = KEYS[key + 1], KEYS[key + 2]
    local stored = call('HGET', SUBSCRIBERS, name)
    if stored and (settings == '' or stored == settings) and call('HGET', file, 'ship:' .. name) ~= shipment
        and not held_until(claims, owners, id) then
      take(claims, owners, KEYS[key + 2 + index], id)
      joined[#joined + 1] = name
    end
  end
  return joined
end

local answer = {int(now), {}}
for i = 1, files do
  local file, staged = KEYS[3 + 2 * i], KEYS[4 + 2 * i]
  local id, shipment = ARGV[3 + 2 * i], ARGV[4 + 2 * i]
  local last, state, counted = unpack(call('HMGET', file, 'ship', 'state', 'ship:' .. subscriber))
  local held = held_until(CLAIMS, OWNERS, id)
  if last ~= shipment or (state ~= 'uploading' and state ~= 'uploaded') or counted == shipment then
    answer[2 + i] = '-1'
    if last == shipment then -- no claim on it is valid: remove what a dead one left
      call('ZREM', CLAIMS, id)
      call('HDEL', OWNERS, id)
      call('UNLINK', staged)
    end
  elseif held then
    answer[2 + i] = int(tonumber(held))
  else
    take(CLAIMS, OWNERS, staged, id)
    answer[2], answer[2 + i] = join(i, file, id, shipment), '0'
    return answer
  end
end
return answer
