-- Changes settings. Another password lets out everybody but who set it.
-- KEYS, ARGV[1] id, ARGV[2] key: see room.lua
-- ARGV[3] token, new for every change  ARGV[4] field  ARGV[5] value, and so on
-- Returns {'ok'}: changed, by this call or by an earlier one with this token
--         {'notinroom'}, {'notallowed'}, {'muted', until}
--         or a refusal of room.lua

if redis.call('HGET', KEYS[1], 'changed') == ARGV[3] then return {'ok'} end
local room, refusal = open()
if not room then return refusal end
local may, why = allowed(room)
if not may then return why end
for i = 4, #ARGV - 1, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  redis.call('HSET', KEYS[1], name, value)
  if name == 'ttl' then
    room.dies = room.now + tonumber(value)
    redis.call('HSET', KEYS[1], 'dies', text(room.dies))
  elseif name == 'keep' then
    room.keep = tonumber(value)
  elseif name == 'digest' and value ~= '' then
    local seat = present(room, ARGV[1]) and redis.call('HGET', KEYS[4], ARGV[1])
    redis.call('UNLINK', KEYS[3], KEYS[4])
    if seat then
      redis.call('HSET', KEYS[4], ARGV[1], seat)
      stay(room)
    end
  end
end
redis.call('HSET', KEYS[1], 'changed', ARGV[3])
trim(room)
bind(room)
return {'ok'}
