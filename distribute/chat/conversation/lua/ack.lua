-- Acknowledges everything up to a message.
-- ARGV[1] who has read  ARGV[2] id of the last message read
-- Returns {'ok', cursor}
--         {'ahead', last}: there is no such message yet
-- @include opened_pair

local cursor, to = chat['cursor' .. me], tonumber(ARGV[2])
if to > chat.last then chat.last = math.max(chat.last, math.min(newest(), exact)) end
if to > chat.last then return {'ahead', int(chat.last)} end
if to <= cursor then return {'ok', int(cursor)} end
local read
if to == chat.last then
  read = chat['sent' .. peer]
else
  -- The newest of ours up to there knows. Where others put hundreds behind it the
  -- count stays, and is right again with the next message that is acknowledged.
  walk('XREVRANGE', behind(to), '(' .. behind(cursor), function(_, _, count)
    read = counted(chat, count)
    return read
  end)
end
acknowledge(chat, to, read)
return {'ok', int(to)}
