#!lua flags=allow-oom
-- Stages cells of a claimed file for its next commit. They are not valid until they
-- are sealed. A call that arrives after the seal, when the caller has given up its
-- connection, must not change the cells of the commit that follows.
-- ARGV: subscriber; its epoch; file id; shipment; token; number of the commit, from 1 in each
-- shipment; n; n days whose first cells follow, or behind a question mark days that have none and
-- take no room; pairs (cell name, number): with the days at
-- most 500. The name of a cell begins with its day, or with the group of accounts and the day
-- Returns {1, days that the subscriber does not keep, or has no room for, whose cells are not
-- staged …}, or {0} if
-- the claim is lost, the subscriber was reset, the commit is not the next one, or the shipment can't
-- be counted. Repeating it changes nothing.
-- @include channel
-- @include commits
-- @include epoch
local subscriber, epoch, id, shipment, token, commit, n = unpack(ARGV, 1, 7)
local max_days = 4096
if call('HGET', OWNERS, id) ~= token then return {0} end
if epoch_of() ~= epoch then return {0} end
local last, state, part, commits = unpack(call('HMGET', FILE, 'ship', 'state', 'part:' .. subscriber, 'commit:' .. subscriber))
if last ~= shipment or (state ~= 'uploading' and state ~= 'uploaded') then return {0} end
commits = commits_of(shipment, part, commits)
if tonumber(commit) ~= tonumber(commits) + 1 then return {0} end
local oldest = call('HGET', SUBSCRIBER, 'oldest')
local answer, refused = {1}, {}
for i = 8, 7 + n do
  local asked, day = string.match(ARGV[i], '^(%??)(.*)$')
  local kept = not oldest or day >= oldest
  if kept and (call('ZSCORE', DAYS, day) or call('ZCARD', DAYS) < max_days) then
    if asked == '' then call('ZADD', DAYS, 0, day) end
  else
    answer[#answer + 1], refused[day] = day, true
  end
end
if #answer == 1 and #ARGV > 7 + n then -- at once, which is faster
  call('HSET', STAGED, unpack(ARGV, 8 + n))
  return answer
end
for i = 8 + n, #ARGV, 2 do
  if refused[string.match(ARGV[i], '^accounts\t(..........)') or string.sub(ARGV[i], 1, 10)] then
    call('HDEL', STAGED, ARGV[i]) -- of an earlier call, when there was room
  else
    call('HSET', STAGED, ARGV[i], ARGV[i + 1])
  end
end
return answer
