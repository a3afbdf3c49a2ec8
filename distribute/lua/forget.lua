-- Deletes the record of a file that was not used for long, to bound their number.
-- ARGV: file id; the newest last use, in ms, of a record that may be deleted
-- Returns 1 if it was deleted, else 0.
-- @include channel
local id, newest = unpack(ARGV)
local touched = call('ZSCORE', FILES, id)
if not touched or alive(touched, tonumber(newest)) or call('ZSCORE', OPEN, id) then return 0 end
local first = call('HGET', FILE, 'first')
if first then
  local kept = {}
  for other in string.gmatch(call('HGET', HEADS, first) or '', '%S+') do
    if other ~= id then kept[#kept + 1] = other end
  end
  if #kept > 0 then
    call('HSET', HEADS, first, table.concat(kept, ' '))
  else
    call('HDEL', HEADS, first)
  end
end
call('ZREM', FILES, id)
call('ZREM', ABANDONED, id)
call('UNLINK', FILE)
return 1
