-- Declarations shared by the scripts of all chats: numbers, the format's version,
-- the log.
-- KEYS: HASH  LOG (stream)  and further ones of each package
-- Every reply is a list that starts with a word. These words mean a refusal:
--   {'newer', version}           a newer release wrote it
--   {'corrupt', field, value}    a field of the hash has an invalid value
-- @include int
-- @include clock
-- @include groups

local exact = 9007199254740991 -- 2^53 - 1

-- whole returns a score as an id, and 0 for a damaged score, so that no script fails.
local function whole(score)
  local n = tonumber(score)
  if not n or n ~= n or n < 0 then return 0 end
  return math.min(math.floor(n), exact)
end

-- number returns the number in the id of a stream's entry, 'N-0'.
local function number(entry) return tonumber(string.match(entry[1], '^%d+')) end

-- refused_format returns the refusal for the version in a hash, or nil.
local function refused_format(version)
  local v = tonumber(version or '')
  if v and v > 1 then return {'newer', version} end
  if v ~= 1 then return {'corrupt', 'v', version or ''} end
end

-- delete_known deletes all keys in any state, or returns the refusal of a newer
-- format.
local function delete_known()
  local version = redis.pcall('HGET', HASH, 'v')
  local refusal = type(version) == 'string' and refused_format(version)
  if refusal and refusal[1] == 'newer' then return refusal end
  redis.call('UNLINK', unpack(KEYS))
end

-- newest returns the highest id that the log has ever had. It is above the last
-- message's if entries were added by hand, even if they were deleted since. Such
-- entries are kept, and reported to readers.
local function newest()
  local top = redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1]
  local known = fields_of(redis.pcall('XINFO', 'STREAM', LOG))['last-generated-id'] -- counts deleted entries, too
  return math.max(top and number(top) or 0, known and number({known}) or 0)
end

-- read_after returns the id after which a reader goes on that has read up to this one. An id
-- above the newest of the log is of an earlier chat of this name: it starts at 0.
local function read_after(id, last)
  id = whole(id or '')
  if id > last and id > newest() then return 0 end
  return id
end

-- adopt sets chat.last to the newest id, so that the next message follows entries
-- added by hand.
local function adopt(chat)
  local id = newest()
  if id > chat.last and id <= exact then
    chat.last = id
    redis.call('HSET', HASH, 'last', int(id))
  end
end

-- trim drops entries older than the message to. It returns the id before which the
-- log has no entries: to, or a higher id up to keep if ids have a gap, because
-- entries were added or deleted by hand.
local function trim(to, keep)
  if redis.call('XTRIM', LOG, 'MINID', int(to) .. '-0') > 0 or to >= keep then return to end
  local first = redis.call('XRANGE', LOG, '-', '(' .. int(keep), 'COUNT', 1)[1]
  return first and number(first) or keep
end

-- fields returns the fields that every message's entry has. An empty type or URL
-- has no field.
local function fields(sender, body, kind, url)
  local list = {'sender', sender, 'body', body, 'time', int(clock_ms())}
  if kind ~= '' then list[7], list[8] = 'type', kind end
  if url ~= '' then list[#list + 1], list[#list + 2] = 'url', url end
  return list
end

-- append appends an entry after last, or after foreign entries. It returns its id,
-- or nil and the refusal to return.
local function append(last, list)
  local reply
  for try = 1, 2 do
    if last >= exact then return nil, {'corrupt', 'last', int(last)} end
    reply = redis.pcall('XADD', LOG, int(last + 1) .. '-0', unpack(list))
    if type(reply) ~= 'table' or not reply.err then return last + 1 end
    if try == 1 then last = math.max(last, newest()) end
  end
  return nil, reply
end
