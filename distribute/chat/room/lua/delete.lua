-- Deletes a room. For a minute a mark of it stays, so that the call can be
-- repeated. One that can't be read may be deleted by an operator only.
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
  local may, why = allowed(room)
  if not may then return why end
elseif refusal[1] ~= 'corrupt' or ARGV[1] ~= '' then
  return refusal
end
redis.call('UNLINK', unpack(KEYS))
redis.call('HSET', HASH, 'gone', ARGV[3])
redis.call('PEXPIRE', HASH, '60000')
return {'ok'}
