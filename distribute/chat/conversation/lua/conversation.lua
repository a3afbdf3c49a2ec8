-- Declarations shared by all scripts of a conversation.
-- KEYS: HASH of the pair  LOG (stream)
-- ARGV[1] '1' or '2': the person of the pair that calls
-- Refusals: those of log.lua and {'nochat'}: the pair has no conversation
-- @include log

local caller, peer = ARGV[1], ARGV[1] == '1' and '2' or '1'

local names = {'last', 'oldest', 'listed', 'at', 'sent1', 'sent2', 'cursor1', 'cursor2',
  'read1', 'read2', 'here1', 'here2'}

-- open returns the pair, or nil and the refusal to return.
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
  for _, person in ipairs({'1', '2'}) do -- a cursor after the last id would hide the next message
    chat['cursor' .. person] = math.min(chat['cursor' .. person], chat.last)
    local sent = chat[person == '1' and 'sent2' or 'sent1']
    chat['read' .. person] = math.min(chat['read' .. person], sent)
  end
  return chat
end

-- open_any is open, but a pair without a conversation is one with all numbers 0.
local function open_any()
  local chat, refusal = open()
  if chat or refusal[1] ~= 'nochat' then return chat, refusal end
  chat = {}
  for _, name in ipairs(names) do chat[name] = 0 end
  return chat
end

-- unread returns the number of messages that the caller has not read, and
-- unread_by_peer that of the peer. Both are exact, because the counts of messages
-- sent and messages acknowledged are kept up to date by the scripts that send
-- and acknowledge.
local function unread(chat) return chat['sent' .. peer] - chat['read' .. caller] end
local function unread_by_peer(chat) return chat['sent' .. caller] - chat['read' .. peer] end

-- total returns the number of messages ever sent.
local function total(chat) return int(chat.sent1 + chat.sent2) end

-- after returns the highest stream id with this number: a range that excludes it
-- starts after all entries with the number.
local function after(id) return int(id) .. '-18446744073709551615' end

-- walk reads the log from one stream id to another, and calls visit with each
-- entry, its sender and the number of messages that the peer had sent by then.
-- It stops when visit returns a true value, after 200 entries, or after 64 KiB,
-- and reports whether it reached the end. It reads 8 entries at a time, because
-- the size of entries is unknown until Redis has copied them.
local function walk(command, from, to, visit)
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
      if visit(entry, sender, count) or seen == 200 or bytes >= 65536 then return false end
    end
    if #entries < 8 then return true end
  end
end

-- valid_count returns an entry's count of the peer's messages as a number, or nil
-- if it has no valid one, as an entry added by hand.
local function valid_count(chat, count)
  local n = tonumber(count or '')
  if n and n == whole(n) and n <= chat['sent' .. peer] then return n end
end

-- read_page reads at most max_entries messages that the person called name did
-- not send, after the id from and up to the id up_to. It returns the entries, the
-- id that the page reaches, the number of the peer's messages up to that id, nil
-- if unknown, and whether more messages follow.
local function read_page(chat, name, from, up_to, max_entries)
  local page, last, read = {}, nil, nil
  local ended = walk('XRANGE', '(' .. after(from), int(up_to), function(entry, sender, count)
    last, read = entry, valid_count(chat, count) or read
    if sender ~= name then page[#page + 1] = entry end
    return #page >= max_entries
  end)
  local to = last and math.min(number(last), exact) or from
  if ended and up_to == exact then to, read = math.max(to, chat.last), chat['sent' .. peer] end
  return page, to, read, not ended and to < up_to
end

-- acknowledge moves the caller's cursor forward.
local function acknowledge(chat, to, read)
  read = math.max(chat['read' .. caller], read or 0)
  redis.call('HSET', HASH, 'cursor' .. caller, int(to), 'read' .. caller, int(read),
    'last', int(math.max(to, chat.last))) -- to may be the id of an entry added by hand
end

-- A person's last reads are stored newest first, joined by ';', each as
-- 'token from to read time'. from and read are the cursor and the count before
-- the read, to is the cursor after it, time is in ms.
local read_pattern = '(%w+) (%d+) (%d+) (%d+) (%d+)'
