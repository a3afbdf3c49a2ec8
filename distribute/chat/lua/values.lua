-- Put before every script that reads or writes messages.

local exact = 9007199254740991 -- 2^53 - 1

-- Numbers are doubles here, and '..' would write a big one as 1.7e+15.
local function text(n) return string.format('%.0f', n) end

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- A score as an id: a damaged one must not make a script fail.
local function whole(score)
  local n = tonumber(score)
  if not n or n ~= n or n < 0 then return 0 end
  return math.min(math.floor(n), exact)
end

-- The number in the id of a stream's entry, 'N-0'.
local function number(entry) return tonumber(string.match(entry[1], '^%d+')) end
