-- Acknowledges all messages up to an id.
-- ARGV[1] the reader, '1' or '2'  ARGV[2] id of the last message read
-- Returns {'ok', cursor}
--         {'ahead', last}: no message has this id yet
-- @include opened_pair when_full

local cursor, to = chat['cursor' .. caller], tonumber(ARGV[2])
if to > chat.last then chat.last = math.max(chat.last, math.min(newest(), exact)) end
if to > chat.last then return {'ahead', int(chat.last)} end
if to <= cursor then return {'ok', int(cursor)} end
local read
if to == chat.last then
  read = chat['sent' .. peer]
else
  -- The newest entry of this conversation up to there has the count. If hundreds
  -- of foreign entries follow it, the count stays as it is until the next
  -- acknowledgement.
  walk('XREVRANGE', after(to), '(' .. after(cursor), function(_, _, count)
    read = valid_count(chat, count)
    return read
  end)
end
acknowledge(chat, to, read)
return {'ok', int(to)}
