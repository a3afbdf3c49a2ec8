#!lua flags=allow-oom
-- A worker's heartbeat: records that its subscriber has a worker, and renews its claims.
-- ARGV: subscriber; lease in ms; pairs (file id, token)
-- Returns the ids of the files whose claim is lost.
-- @include channel
-- @include amnesty
local subscriber, lease = unpack(ARGV, 1, 2)
local now = clock_ms()
if call('HEXISTS', SUBSCRIBERS, subscriber) == 1 then
  acts(now, share * lease)
  call('HSET', SUBSCRIBER, 'seen', int(now))
end
local lost = {}
for i = 3, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  if call('HGET', OWNERS, id) == token then
    call('ZADD', CLAIMS, int(now + lease), id)
  else
    lost[#lost + 1] = id
  end
end
return lost
