-- fields_of converts a flat list of names and values, such as an XINFO reply, to a table.
local function fields_of(reply)
  local fields = {}
  for i = 1, #reply - 1, 2 do fields[reply[i]] = reply[i + 1] end
  return fields
end

-- find_group returns what Redis knows of a consumer group of a stream that
-- exists, or nil.
local function find_group(stream, name)
  for _, reply in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local group = fields_of(reply)
    if group.name == name then return group end
  end
end
