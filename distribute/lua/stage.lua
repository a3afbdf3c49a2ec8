#!lua flags=allow-oom
-- Stages cells of a claimed file for its next commit. They are not valid until they
-- are sealed. A call that arrives after the seal, when the caller has given up its
-- connection, must not change the cells of the commit that follows.
-- ARGV: subscriber; its epoch; file id; shipment; token;
--   number of the commit, from 1 in each shipment;
--   number of days whose first cells follow; number of days without cells, which take no room;
--   these days, then those;
--   pairs (cell name, number), at most 500 with the days. The name of a cell begins with its day,
--   or with the group of accounts and the day
-- Returns {1, day …} with the days that the subscriber does not keep, or has no room for: their
--   cells are not staged. Repeating it changes nothing.
--   {0} if the claim is lost, the subscriber was reset, the commit is not the next one, or the
--   shipment can't be counted
-- @include channel
-- @include commits
-- @include epoch
local subscriber, epoch, id, shipment, token, commit, with_cells, without = unpack(ARGV, 1, 8)
local first = 9 + with_cells + without -- of the cells
local max_days = 4096
if call('HGET', OWNERS, id) ~= token then return {0} end
if epoch_of() ~= epoch then return {0} end
local last, state, part, commits = unpack(call('HMGET', FILE, 'ship', 'state', 'part:' .. subscriber, 'commit:' .. subscriber))
if last ~= shipment or (state ~= 'uploading' and state ~= 'uploaded') then return {0} end
commits = commits_of(shipment, part, commits)
if tonumber(commit) ~= tonumber(commits) + 1 then return {0} end
local oldest = call('HGET', SUBSCRIBER, 'oldest')
local answer, refused = {1}, {}
for i = 9, first - 1 do
  local day = ARGV[i]
  local kept = not oldest or day >= oldest
  if kept and (call('ZSCORE', DAYS, day) or call('ZCARD', DAYS) < max_days) then
    if i < 9 + with_cells then call('ZADD', DAYS, 0, day) end
  else
    answer[#answer + 1], refused[day] = day, true
  end
end
if #answer == 1 and #ARGV >= first then -- at once, which is faster
  call('HSET', STAGED, unpack(ARGV, first))
  return answer
end
for i = first, #ARGV, 2 do
  if refused[string.match(ARGV[i], '^accounts\t(..........)') or string.sub(ARGV[i], 1, 10)] then
    call('HDEL', STAGED, ARGV[i]) -- of an earlier call, when there was room
  else
    call('HSET', STAGED, ARGV[i], ARGV[i + 1])
  end
end
return answer
