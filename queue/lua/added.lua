-- Redis counts the entries that were ever added to a stream (entries-added). So a script
-- counts only the jobs that it adds to other places than fresh lines (see must_count). The
-- entries-read of a stream's consumer group 'counted', which reads nothing, is the number of
-- entries that are in COUNTS already. The group ends with its stream: one that is created
-- again begins at 0.
--
-- Only XINFO STREAM returns entries-added. It copies the first and the last entry of the stream too,
-- which may have a MiB each, and has no option that leaves them out. (The lag of a group, in
-- XINFO GROUPS, is unknown after some deletions.) So scripts call uncounted seldom: to read the
-- counters, to tidy up, and when the first job of a day is added.
-- @include int groups

-- uncounted returns the number of entries of a fresh line that are not in COUNTS, the day
-- (since 1970) on which the latest of them was added, at most today, then entries-added and
-- the group, each nil if it does not exist.
local function uncounted(key, today)
  if redis.call('EXISTS', key) == 0 then return 0, today end
  local stream = fields_of(redis.call('XINFO', 'STREAM', key))
  local added = tonumber(stream['entries-added'])
  if not added then return 0, today end -- the embedded server
  local group = find_group(key, 'counted')
  local latest = tonumber(string.match(stream['last-generated-id'], '^%d+'))
  local counted = group and tonumber(group['entries-read']) or 0
  return math.max(0, added - counted), math.min(today, math.floor(latest / 86400000)), added, group
end
