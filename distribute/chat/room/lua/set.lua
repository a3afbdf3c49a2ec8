-- Changes settings. A new password removes all people but the caller.
-- ARGV[3] token, new for every change  ARGV[4] field  ARGV[5] value, and so on
-- Returns {'ok'}: changed, by this call or by an earlier one with this token
--         {'notinroom'}, {'notallowed'}, {'muted', until}
-- @include room

if redis.call('HGET', HASH, 'changed') == ARGV[3] then return {'ok'} end
local room, refusal = open()
if not room then return refusal end
local may, why = allowed(room)
if not may then return why end
for i = 4, #ARGV - 1, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  redis.call('HSET', HASH, name, value)
  if name == 'ttl' then
    room.dies = room.now + tonumber(value)
    redis.call('HSET', HASH, 'dies', int(room.dies))
  elseif name == 'keep' then
    room.keep = tonumber(value)
  elseif name == 'digest' and value ~= '' then
    local seat = present(room, ARGV[1]) and redis.call('HGET', NICKS, ARGV[1])
    redis.call('UNLINK', PEOPLE, NICKS)
    if seat then
      redis.call('HSET', NICKS, ARGV[1], seat)
      stay(room)
    end
  end
end
redis.call('HSET', HASH, 'changed', ARGV[3])
drop_old(room)
bind(room)
return {'ok'}
