#!lua flags=allow-oom
-- Seals a part of the count under a claim: the staged cells, and how far the
-- subscriber has counted the file, become valid in this one script. The last part
-- marks the shipment as counted and ends the claim.
-- ARGV: subscriber; its epoch; file id; shipment; token; number of the commit, from 1 in each
-- shipment; '1': the last part, '2': the last one although more may be uploaded, which
-- can't be counted; checkpoint, empty: none; number of staged cells;
-- n; n pairs (record field, value); pairs (sum field, increment)
-- Returns
--      2 if every subscriber has now counted the shipment, 1 if not yet: also
--        when the last commit is repeated
--      0 if the claim is lost, the subscriber was reset, the commit is not the next one, or the shipment
--        can't be counted (abandoned, superseded, counted already under another
--        claim, or for the last part not uploaded)
--      -1 if the number of staged cells differs from the argument
-- @include channel
-- @include commits
-- @include epoch
-- @include signal
-- @include done
local subscriber, epoch, id, shipment, token, commit, final, checkpoint, cells, n = unpack(ARGV, 1, 10)
local last, state, counted, sealed_by, part, commits = unpack(call('HMGET', FILE, 'ship', 'state',
  'ship:' .. subscriber, 'seal:' .. subscriber, 'part:' .. subscriber, 'commit:' .. subscriber))
commits = commits_of(shipment, part, commits)
if commits == commit and sealed_by == token then return state == 'done' and 2 or 1 end
if last ~= shipment or counted == shipment then return 0 end
if state ~= 'uploaded' and (state ~= 'uploading' or final == '1') then return 0 end
if tonumber(commit) ~= tonumber(commits) + 1 then return 0 end
if epoch_of() ~= epoch then return 0 end
if call('HGET', OWNERS, id) ~= token then return 0 end
if call('HLEN', STAGED) ~= tonumber(cells) then return -1 end

if cells ~= '0' then
  call('RENAME', STAGED, SEALED_CELLS)
  call('SADD', SEALED, id .. ':' .. shipment .. ':' .. commit)
end
call('HSET', FILE, 'part:' .. subscriber, shipment, 'commit:' .. subscriber, commit, 'seal:' .. subscriber, token)
local first_sum = 11 + 2 * n
for i = 11, first_sum - 1, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  call('HSET', FILE, field .. ':' .. subscriber, value)
  if field == 'note' then call(value == '' and 'SREM' or 'SADD', PROBLEMS, id) end
end
for i = first_sum, #ARGV, 2 do call('HINCRBY', SUBSCRIBER, ARGV[i], ARGV[i + 1]) end
call('HINCRBY', SUBSCRIBER, 'version', 1)
if final == '0' then
  if checkpoint ~= '' then call('SET', CHECKPOINT, checkpoint) end
  return 1
end
call('HSET', FILE, 'ship:' .. subscriber, shipment)
call('HDEL', FILE, 'cut:' .. subscriber)
call('UNLINK', CHECKPOINT)
call('HDEL', OWNERS, id)
call('ZREM', CLAIMS, id)
call('ZADD', FILES, int(clock_ms()), id)
signal('counted', 'file')
return state == 'uploaded' and mark_done(id, shipment) and 2 or 1
