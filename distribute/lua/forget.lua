#!lua flags=allow-oom
-- Deletes the record of a file that has not changed for long, to bound the number
-- of records.
-- ARGV: file id; time in ms: a record with a later change is kept
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
