-- Claims for a subscriber the first free one of some announced files, and returns
-- the state of each file up to it.
-- KEYS: after the named ones, for each file: file, its staged counts
-- ARGV: subscriber; claim; lease in ms; then for each file: id, shipment
-- Returns {time now, verdict, verdict, …}, one for each file looked at:
--      -1 gone: counted by the subscriber before, done, or abandoned
--      0 claimed now, always the last
--      N held by another claim until that time
-- or an empty list if there is no such subscriber.
-- @include channel
local subscriber, claim, lease = unpack(ARGV, 1, 3)
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
    if last == shipment then -- it is not counted any more; remove what a dead claim left
      call('ZREM', CLAIMS, id)
      call('HDEL', OWNERS, id)
    end
  elseif alive(held, now) and call('HGET', OWNERS, id) ~= claim then
    answer[i + 1] = int(tonumber(held))
  else
    call('ZADD', CLAIMS, int(now + lease), id)
    call('HSET', OWNERS, id, claim)
    call('UNLINK', staged) -- what a dead claim left
    answer[i + 1] = '0'
    return answer
  end
end
return answer
