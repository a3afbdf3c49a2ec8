-- Changes settings. A new password removes all people except the caller.
-- ARGV[3] token, new for every change  ARGV[4] field  ARGV[5] value, and so on
-- Returns {'ok'}: changed, by this call or by an earlier one with this token
--         {'notinroom'}, {'notallowed'}, {'muted', until}
-- @include room

if redis.call('HGET', HASH, 'changed') == ARGV[3] then return {'ok'} end
local room, refusal = open()
if not room then return refusal end
local permitted, denial = allowed(room)
if not permitted then return denial end
for i = 4, #ARGV - 1, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  redis.call('HSET', HASH, name, value)
  if name == 'ttl' then
    room.dies = room.now + tonumber(value)
    redis.call('HSET', HASH, 'dies', int(room.dies))
  elseif name == 'keep' then
    room.keep = tonumber(value)
  elseif name == 'digest' and value ~= '' then
    local entry = present(room, ARGV[1]) and redis.call('HGET', NICKS, ARGV[1])
    redis.call('UNLINK', PEOPLE, NICKS)
    if entry then
      redis.call('HSET', NICKS, ARGV[1], entry)
      renew_presence(room)
    end
  end
end
redis.call('HSET', HASH, 'changed', ARGV[3])
drop_old(room)
set_expiry(room)
return {'ok'}
