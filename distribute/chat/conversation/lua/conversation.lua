-- What all scripts of a conversation share.
-- KEYS: HASH of the pair  LOG (stream)
-- ARGV[1] '1' or '2': which of the pair acts
-- Refusals: those of log.lua and {'nochat'}: nothing is known of this pair
-- @include log

local me, peer = ARGV[1], ARGV[1] == '1' and '2' or '1'

local names = {'last', 'oldest', 'listed', 'at', 'sent1', 'sent2', 'cursor1', 'cursor2',
  'read1', 'read2', 'here1', 'here2'}

-- Returns the pair, or nil and the refusal to return.
local function open()
  local f = redis.call('HMGET', HASH, 'v', unpack(names))
  if not f[1] and redis.call('EXISTS', HASH) == 0 then return nil, {'nochat'} end
  local refusal = refused_format(f[1])
  if refusal then return nil, refusal end
  local chat = {}
  for i, name in ipairs(names) do
    local n = tonumber(f[i + 1] or '0')
    if not n or n ~= whole(n) then return nil, {'corrupt', name, f[i + 1]} end
    chat[name] = n
  end
  for _, who in ipairs({'1', '2'}) do -- a cursor beyond would hide what is sent next
    chat['cursor' .. who] = math.min(chat['cursor' .. who], chat.last)
    local sent = chat[who == '1' and 'sent2' or 'sent1']
    chat['read' .. who] = math.min(chat['read' .. who], sent)
  end
  return chat
end

-- open of a pair of which nothing may be known: then all is 0.
local function open_any()
  local chat, refusal = open()
  if chat or refusal[1] ~= 'nochat' then return chat, refusal end
  chat = {}
  for _, name in ipairs(names) do chat[name] = 0 end
  return chat
end

-- How many messages wait for me, and for my peer. Exact, because both are
-- counted where they change: what was sent, and what of it was acknowledged.
local function unread(chat) return chat['sent' .. peer] - chat['read' .. me] end
local function waiting(chat) return chat['sent' .. me] - chat['read' .. peer] end

local function total(chat) return int(chat.sent1 + chat.sent2) end

-- The place behind a message, and after any entry with its number.
local function behind(id) return int(id) .. '-18446744073709551615' end

-- Walks along the log from one place to another, until take, which is handed
-- each entry, its sender and how many messages my peer had sent by then, is
-- content, or after 200 entries or 64 KiB. It goes in steps of 8: nobody knows how
-- big entries are before they are copied. Tells whether it came to the end.
local function walk(command, from, to, take)
  local seen, bytes, counter = 0, 0, 'sent' .. peer
  while true do
    local entries = redis.call(command, LOG, from, to, 'COUNT', 8)
    for _, entry in ipairs(entries) do
      local list, sender, count = entry[2], nil, nil
      for i = 1, #list - 1, 2 do
        local name, value = list[i], list[i + 1]
        bytes = bytes + #name + #value
        if name == 'sender' then sender = value elseif name == counter then count = value end
      end
      seen, from = seen + 1, '(' .. entry[1]
      if take(entry, sender, count) or seen == 200 or bytes >= 65536 then return false end
    end
    if #entries < 8 then return true end
  end
end

-- Whether an entry tells how many messages my peer had sent: one that somebody
-- added by hand does not.
local function counted(chat, count)
  local n = tonumber(count or '')
  if n and n == whole(n) and n <= chat['sent' .. peer] then return n end
end

-- Reads what is not from me, behind one message and up to another. Gives the
-- entries, the id that this went up to, how many of my peer's messages there are
-- up to there, or nil if that is not known, and whether there are more.
local function pageFor(chat, name, from, upTo, most)
  local page, last, read = {}, nil, nil
  local ended = walk('XRANGE', '(' .. behind(from), int(upTo), function(entry, sender, count)
    last, read = entry, counted(chat, count) or read
    if sender ~= name then page[#page + 1] = entry end
    return #page >= most
  end)
  local to = last and math.min(number(last), exact) or from
  if ended and upTo == exact then to, read = math.max(to, chat.last), chat['sent' .. peer] end
  return page, to, read, not ended and to < upTo
end

-- Moves my cursor forward.
local function acknowledge(chat, to, read)
  read = math.max(chat['read' .. me], read or 0)
  redis.call('HSET', HASH, 'cursor' .. me, int(to), 'read' .. me, int(read),
    'last', int(math.max(to, chat.last))) -- to may be an entry that somebody added by hand
end

-- The last reads of a person, newest first: 'token from to read time', joined by
-- ';'. Cursor and count are those before the read, time in ms.
local record = '(%w+) (%d+) (%d+) (%d+) (%d+)'
