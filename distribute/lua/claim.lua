#!lua flags=allow-oom
-- Claims for a subscriber the first unclaimed one of some announced files, and
-- returns the status of each file up to it.
-- KEYS: the declared keys, then for each file: its record, its staged cells
-- ARGV: subscriber; token; lease in ms; then for each file: id, shipment
-- Returns {time now, status, status, …}, one status for each file examined:
--      -1 finished: counted by the subscriber before, done, superseded or abandoned
--      0 claimed now, always the last
--      N held by another claim until that time
-- or an empty list if there is no such subscriber.
-- @include channel
local subscriber, token, lease = unpack(ARGV, 1, 3)
if call('HEXISTS', SUBSCRIBERS, subscriber) == 0 then return {} end
local now = clock_ms()
call('HSET', SUBSCRIBER, 'seen', int(now))
local answer = {int(now)}
for i = 1, (#KEYS - 4) / 2 do
  local file, staged = KEYS[3 + 2 * i], KEYS[4 + 2 * i]
  local id, shipment = ARGV[2 + 2 * i], ARGV[3 + 2 * i]
  local last, state, counted = unpack(call('HMGET', file, 'ship', 'state', 'ship:' .. subscriber))
  local held = call('ZSCORE', CLAIMS, id)
  if last ~= shipment or (state ~= 'uploading' and state ~= 'uploaded') or counted == shipment then
    answer[i + 1] = '-1'
    if last == shipment then -- no claim on it is valid: remove what a dead one left
      call('ZREM', CLAIMS, id)
      call('HDEL', OWNERS, id)
      call('UNLINK', staged)
    end
  elseif alive(held, now) and call('HGET', OWNERS, id) ~= token then
    answer[i + 1] = int(tonumber(held))
  else
    call('ZADD', CLAIMS, int(now + lease), id)
    call('HSET', OWNERS, id, token)
    call('UNLINK', staged) -- what a dead claim left
    answer[i + 1] = '0'
    return answer
  end
end
return answer
