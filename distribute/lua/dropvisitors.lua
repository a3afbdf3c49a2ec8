#!lua flags=allow-oom
-- Deletes sketches of visitors: of the countries of a day, so that there are none on days up to
-- this one from then on, or of days that are not kept.
-- KEYS: the declared keys, then the sketches, at most 100
-- ARGV: first day that may have sketches of countries, '': it stays as it is; names of the sketches
-- Returns 1, or 0 if there is no such subscriber.
-- @include channel
local declared = 2 -- keys
local first, version = unpack(call('HMGET', SUBSCRIBER, 'countries', 'v'))
if not version then return 0 end
if ARGV[1] ~= '' and (not first or first < ARGV[1]) then call('HSET', SUBSCRIBER, 'countries', ARGV[1]) end
for i = 2, #ARGV do
  call('UNLINK', KEYS[declared + i - 1])
  call('ZREM', VISITORS, ARGV[i])
end
call('HINCRBY', SUBSCRIBER, 'folds', 1)
return 1
