#!lua flags=allow-oom
-- Stages cells of a claimed file for its next commit. They are not valid until they
-- are sealed. A call that arrives after the seal, when the caller has given up its
-- connection, must not change the cells of the commit that follows.
-- ARGV: subscriber; file id; shipment; token; number of the commit, from 1 in each
-- shipment; pairs (cell name, number), at most 500
-- Returns 1, or 0 if the claim is lost, the commit is not the next one, or the
-- shipment can't be counted. Repeating it changes nothing.
-- @include channel
-- @include commits
local subscriber, id, shipment, token, commit = unpack(ARGV, 1, 5)
if call('HGET', OWNERS, id) ~= token then return 0 end
local last, state, part, commits = unpack(call('HMGET', FILE, 'ship', 'state', 'part:' .. subscriber, 'commit:' .. subscriber))
if last ~= shipment or (state ~= 'uploading' and state ~= 'uploaded') then return 0 end
commits = commits_of(shipment, part, commits)
if tonumber(commit) ~= tonumber(commits) + 1 then return 0 end
for i = 6, #ARGV, 2 do call('HSET', STAGED, ARGV[i], ARGV[i + 1]) end
return 1
