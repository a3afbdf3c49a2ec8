-- Put before every script that appends to a log, after values.lua.

-- The highest id that a log has ever had, which is beyond the last of ours when
-- somebody added entries by hand, be they there or deleted. They stay, to be
-- reported to the readers.
local function newest(log)
  local top = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  local id = top and number(top) or 0
  local info = redis.pcall('XINFO', 'STREAM', log)
  for i = 1, #info - 1, 2 do -- knows of deleted ones, too
    if info[i] == 'last-generated-id' then id = math.max(id, number({info[i + 1]})) end
  end
  return id
end

-- What an entry holds of every message. An empty type or URL takes no field.
local function fields(sender, body, kind, url)
  local list = {'sender', sender, 'body', body, 'time', text(now())}
  if kind ~= '' then list[7], list[8] = 'type', kind end
  if url ~= '' then list[#list + 1], list[#list + 2] = 'url', url end
  return list
end

-- Appends an entry after last, or after foreign entries. Gives its id, or nil
-- and the refusal to answer.
local function append(log, last, list)
  local answer
  for try = 1, 2 do
    if last >= exact then return nil, {'corrupt', 'last', text(last)} end
    answer = redis.pcall('XADD', log, text(last + 1) .. '-0', unpack(list))
    if type(answer) ~= 'table' or not answer.err then return last + 1 end
    if try == 1 then last = math.max(last, newest(log)) end
  end
  return nil, answer
end
