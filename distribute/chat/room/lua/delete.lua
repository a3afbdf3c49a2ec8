-- Deletes a room. The token is kept for a minute, so that the call can be repeated.
-- Only an operator may delete a corrupt room.
-- ARGV[3] token, new for every call
-- Returns {'ok'}: deleted, by this call or by an earlier one with this token
--         {'notinroom'}, {'notallowed'}, {'muted', until}
-- @include room

local room, refusal
local kind = redis.call('TYPE', HASH).ok
if kind ~= 'hash' and kind ~= 'none' then
  refusal = {'corrupt', 'type', kind}
elseif redis.call('HGET', HASH, 'gone') == ARGV[3] then
  return {'ok'}
else
  room, refusal = open()
end
if room then
  local permitted, denial = allowed(room)
  if not permitted then return denial end
elseif refusal[1] ~= 'corrupt' or ARGV[1] ~= '' then
  return refusal
end
redis.call('UNLINK', unpack(KEYS))
redis.call('HSET', HASH, 'gone', ARGV[3])
redis.call('PEXPIRE', HASH, '60000')
return {'ok'}
