#!lua flags=allow-oom
-- Merges one sealed sketch of visitors into that of its day, or of a country on it. It is merged
-- once, and a repeat would change nothing. Sketches of countries on days before the first one with
-- them are dropped.
-- KEYS: the declared keys, then the sketch in the totals
-- ARGV: ID:SHIPMENT:COMMIT; subscriber; cell name; day; country, '' for all; maximum of sketches
-- Returns {number of cells left}, {0} if there is no such subscriber, {-1} while a report reads the
-- totals, unless very many commits wait; {0, day} if there is no room: the sketches of the
-- countries of that day, the oldest one, must be dropped first.
-- @include channel
local commit, subscriber, cell, day, country, max = unpack(ARGV)
local total = KEYS[8]
local max_waiting = 1000 -- commits
if call('HEXISTS', SUBSCRIBERS, subscriber) == 0 then return {0} end
local reading = call('ZCOUNT', READERS, '(' .. int(clock_ms()), '+inf') > 0
if reading and call('SCARD', SEALED) <= max_waiting then return {-1} end
local sketch = call('HGET', SEALED_CELLS, cell)
if not sketch then return {call('HLEN', SEALED_CELLS)} end

local oldest, first = unpack(call('HMGET', SUBSCRIBER, 'oldest', 'countries'))
local name = country == '' and day or day .. ' ' .. country
if not (oldest and day < oldest) and not (country ~= '' and first and day < first) then
  if not call('ZSCORE', VISITORS, name) and call('ZCARD', VISITORS) >= tonumber(max) then
    -- The names of a day are its own, and behind it those of its countries.
    local from = '[' .. (first or '')
    for _ = 1, 10 do
      local names = call('ZRANGEBYLEX', VISITORS, from, '+', 'LIMIT', 0, 500)
      for _, other in ipairs(names) do
        if #other > 10 then
          local full = string.sub(other, 1, 10)
          return {0, (country ~= '' and day < full) and day or full}
        end
      end
      if #names == 0 then break end
      from = '(' .. names[#names]
    end
    if country ~= '' then return {0, day} end
  end
  call('SET', INCOMING, sketch)
  call('PFMERGE', total, INCOMING)
  call('UNLINK', INCOMING)
  call('ZADD', VISITORS, 0, name)
end
call('HDEL', SEALED_CELLS, cell)
local left = call('HLEN', SEALED_CELLS)
if left == 0 then call('SREM', SEALED, commit) end
call('HINCRBY', SUBSCRIBER, 'folds', 1)
return {left}
