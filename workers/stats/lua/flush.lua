-- Adds what a pool has counted of a queue.
-- KEYS: those of keys.go
-- ARGV: times of the buckets, see begin.lua
--       number of this write; the pool writes with rising numbers
--       number of cells, for each its kind, metric and amount
--       for each group of errors its id, kind, shape, failed attempts, deaths, a job and its error
-- Returns {'ok', time in ms since 1970, 1 if it was counted now, 0 if it was before};
-- {'clock', time} if the buckets are not yet to be; {'format', format of the statistics}.
-- @include begin
local MAX_KINDS, KIND_IDLE_MS, MAX_GROUPS, HOURS_KEPT, KEEP_NUMBER_MS = 20, 86400000, 1000, 48, 3600000
local number, cells = ARGV[7], tonumber(ARGV[8])
local last = call('GET', FLUSHED)
if last and tonumber(last) >= tonumber(number) then return {'ok', int(now), 0} end
call('SET', FLUSHED, number, 'PX', KEEP_NUMBER_MS)
if not stored then call('HSET', STATS, 'format', FORMAT) end
keep(STATS)

-- remembered returns a kind, or 'other' if there are too many. A new one takes the place of one
-- that was not seen for a day: that has no counts in the current buckets.
local function remembered(kind)
  if kind == 'other' then return kind end
  if not call('ZSCORE', KINDS, kind) and call('ZCARD', KINDS) >= MAX_KINDS then
    local old = call('ZRANGEBYSCORE', KINDS, '-inf', int(now - KIND_IDLE_MS), 'LIMIT', 0, 1)
    if #old == 0 then return 'other' end
    call('ZREM', KINDS, old[1])
  end
  call('ZADD', KINDS, int(now), kind)
  return kind
end

local kinds, fields = {}, {}
for i = 9, 6 + 3 * cells, 3 do
  local kind = ARGV[i]
  kinds[kind] = kinds[kind] or remembered(kind)
  fields[#fields + 1] = kinds[kind] .. ' ' .. ARGV[i + 1]
end
if cells > 0 then
  keep(KINDS)
  each_bucket(function(key)
    for i, field in ipairs(fields) do call('HINCRBY', key, field, ARGV[8 + 3 * i]) end
  end)
end

-- A group is 'failed dead first last job', its kind, its shape and an error, each on a line, then
-- 'hour:failed' or 'hour:failed:dead' for the latest hours.
local GROUP = '^(%d+) (%d+) (%d+) %d+ [^\n]*\n[^\n]*\n[^\n]*\n[^\n]*\n([%d: ]*)$'
local this_hour = math.floor(now / 3600000)

-- counted returns the counts of the hours that are kept, after more of them in this one.
local function counted(hours, failed, dead)
  local kept = {}
  for hour, count, died in string.gmatch(hours, '(%d+):(%d+):?(%d*)') do
    if tonumber(hour) == this_hour then
      failed, dead = failed + tonumber(count), dead + (tonumber(died) or 0)
    elseif tonumber(hour) < this_hour and tonumber(hour) > this_hour - HOURS_KEPT then
      kept[#kept + 1] = hour .. ':' .. count .. (died ~= '' and ':' .. died or '')
    end
  end
  kept[#kept + 1] = int(this_hour) .. ':' .. int(failed) .. (dead > 0 and ':' .. int(dead) or '')
  return table.concat(kept, ' ')
end

local function drop(ids)
  if #ids == 0 then return end
  call('HDEL', ERRORS, unpack(ids))
  call('ZREM', ERRORS_LAST, unpack(ids))
end

local groups = 9 + 3 * cells
for i = groups, #ARGV, 7 do
  local id, kind, shape, job, text = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 5], ARGV[i + 6]
  local more_failed, more_dead = tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
  local failed, dead, first, hours = string.match(call('HGET', ERRORS, id) or '', GROUP)
  if not failed then failed, dead, first, hours = 0, 0, int(now), '' end
  local numbers = int(tonumber(failed) + more_failed) .. ' ' .. int(tonumber(dead) + more_dead)
  call('HSET', ERRORS, id, table.concat({
    numbers .. ' ' .. first .. ' ' .. int(now) .. ' ' .. job, kind, shape, text, counted(hours, more_failed, more_dead),
  }, '\n'))
  call('ZADD', ERRORS_LAST, int(now), id)
end
if #ARGV >= groups then
  drop(call('ZRANGEBYSCORE', ERRORS_LAST, '-inf', int(now - KEEP_MS), 'LIMIT', 0, 50))
  local surplus = call('ZCARD', ERRORS_LAST) - MAX_GROUPS
  if surplus > 0 then drop(call('ZRANGE', ERRORS_LAST, 0, math.min(surplus, 50) - 1)) end
  keep(ERRORS)
  keep(ERRORS_LAST)
end
return {'ok', int(now), 1}
