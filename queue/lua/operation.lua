-- Begins, advances, stops or shows an operation, a change of many jobs. One process at a time
-- has the turn to advance an operation of the queue.
-- ARGV: 'begin', id, owner, ms of the turn, ms after which the question is too old, names and
--       values of the record: do, state, letter, ids, as_of, …
--    or 'continue', id, owner, ms of the turn
--    or 'step', id, owner, ms of the turn, number of the step, cursor behind it, number of jobs
--       examined, 'done' or '' if there are more, ids of jobs to change, '' for one that is to
--       be left alone
--    or 'purge', id, owner, ms of the turn, number of the step, maximum number of jobs
--    or 'stop', id, why
--    or 'show', id
-- A step changes jobs that are in the state still, and were when the operation was asked for: no
-- more than were counted, if all were. Where the state is empty, which it may be with ids, they may be in
-- any one. A step with the number of the last one changes nothing.
-- Returns {'ok', time in ms, 1 if a process has the turn of the operation else 0, names and
-- values of the record}, where ids are empty unless it begins or continues; {'none'}; {'known'} if another process has begun it; {'old'} if the question is; {'busy', id of the operation
-- whose turn it is}; {'ended'} if it can't be continued; {'lost'} if another process has continued
-- it.
-- @include queue operate order
local verb, id, owner = ARGV[1], ARGV[2], ARGV[3]
local KEEP_MS = 31 * 86400000
local KEEP_EVERY = 100 -- steps
local turn_id, turn_owner, turn_until = unpack(call('HMGET', OPERATION, 'id', 'owner', 'until'))
local record = call('HGETALL', OPERATION_RECORD) -- names and values in turn
local stored, place_of_value = {}, {}
for i = 1, #record, 2 do stored[record[i]], place_of_value[record[i]] = record[i + 1], i + 1 end

local function taken() return turn_id and tonumber(turn_until) > now end

-- free lets a change that takes jobs out begin and go on in a full Redis.
-- @lazy allow_when_full when_full
local function free(change)
  if change == 'delete' or change == 'cancel' then allow_when_full() end
end

local function take_turn()
  call('HSET', OPERATION, 'id', id, 'owner', owner, 'until', int(now + tonumber(ARGV[4])))
  turn_id, turn_until = id, now + tonumber(ARGV[4])
end

-- keep_for_a_month lets the turn and the record expire in a month.
local function keep_for_a_month()
  call('PEXPIRE', OPERATION, KEEP_MS)
  call('PEXPIRE', OPERATION_RECORD, KEEP_MS)
end

-- store changes fields of the record.
local function store(...)
  local fields = {...}
  call('HSET', OPERATION_RECORD, ...)
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if type(value) == 'number' then value = int(value) end
    local at = place_of_value[name] or #record + 2
    record[at - 1], record[at], place_of_value[name] = name, value, at
  end
end

local function show()
  if place_of_value.ids and verb ~= 'begin' and verb ~= 'continue' then record[place_of_value.ids] = '' end
  return {'ok', int(now), taken() and turn_id == id and 1 or 0, record}
end

-- give_up ends the turn.
local function give_up()
  if turn_id == id then call('DEL', OPERATION) end
  turn_id = nil
end

-- MAX_READ bounds the jobs that a purge must read, because something may be stored beside them.
local MAX_READ = 100

-- BESIDE has what is stored beside jobs, by their ids.
local BESIDE = {LOGS, PROGRESS, CANCELLED}

-- delete_with_rows deletes those jobs of a fresh line, of which all wait, that were there at a time
-- and have something stored beside them, and returns their number: at most limit.
local function delete_with_rows(line, as_of, limit)
  local deleted = 0
  for _, rows in ipairs(BESIDE) do
    for _, job in ipairs(call('HKEYS', rows)) do
      local letter, entry, ms = string.match(job, '^(%a)((%d+)%-%d+)$')
      if deleted == limit then return deleted end
      if letter == letter_of(line) and tonumber(ms) < as_of and call('XDEL', KEYS[line], entry) == 1 then
        forget(job)
        deleted = deleted + 1
      end
    end
  end
  return deleted
end

-- purge deletes waiting jobs that were there at a time, without having their ids. It returns their
-- number and the place in READ_ORDER at which to go on, '' at the end.
local function purge(first, as_of, limit)
  local deleted, max_read = 0, MAX_READ
  local notified = max_events or call('EXISTS', WAITED) == 1
  local rows = 0
  for _, key in ipairs(BESIDE) do rows = rows + call('HLEN', key) end
  local bare = STREAMS_COUNT and not notified and rows <= MAX_READ and call('EXISTS', UNIQUE) == 0
  for place = first, #READ_ORDER do
    local line = READ_ORDER[place]
    local key, group, count_max = KEYS[line], group_of(line), 1
    local after = group and group['last-delivered-id'] or '0-0'
    local idle = is_fresh(line) and not (group and group.pending > 0) -- all its entries wait
    if bare and idle and call('XLEN', key) > 0 then
      deleted = deleted + (rows > 0 and delete_with_rows(line, as_of, limit - deleted) or 0)
      if deleted == limit then return deleted, place end
      -- Whole nodes, of some 100 entries. (The embedded server, which does not count, ignores LIMIT.)
      local trimmed = call('XTRIM', key, 'MINID', '~', int(as_of), 'LIMIT', limit - deleted)
      if trimmed > 0 then return deleted + trimmed, place end
    end
    local with_ids = notified or rows > 0 or not is_fresh(line)
    while call('XLEN', key) > 0 do
      local entries, ids, size, last = {}, {}, 1, nil
      for i, entry in ipairs(call('XRANGE', key, '(' .. after, int(as_of - 1), 'COUNT', math.min(count_max, limit - deleted, max_read))) do
        local fields = entry[2]
        last, entries[i] = entry[1], entry[1]
        for f = 1, #fields do size = size + #fields[f] end
        local unique = (#fields ~= 4 or fields[1] ~= 'kind') and get(fields, 'unique') -- a plain job has none
        if unique or with_ids then ids[#ids + 1] = id_of(line, last, fields) end
        if unique then release(unique, ids[#ids]) end
      end
      if not last then break end
      if idle then -- so all entries before the last one are to be deleted, which is faster
        call('XTRIM', key, 'MINID', last)
        call('XDEL', key, last)
      else
        call('XDEL', key, unpack(entries))
      end
      if #ids > 0 then
        if not is_fresh(line) then call('HDEL', MOVED, unpack(ids)) end
        for _, key_beside in ipairs(BESIDE) do call('HDEL', key_beside, unpack(ids)) end
        if notified then
          for _, one in ipairs(ids) do notify('deleted', one, true) end
        end
      end
      deleted, max_read = deleted + #entries, max_read - #entries
      if deleted == limit or max_read == 0 then return deleted, place end
      if #entries < count_max then break end
      count_max = math.min(limit, 4 * count_max, math.floor(262144 * #entries / size)) -- the others may be as large
      if count_max < 1 or size > 131072 then return deleted, place end
    end
  end
  return deleted, ''
end

-- change_together lets the functions of operate.lua read and remove the jobs of a step from their shelf
-- together: a call for each takes Redis several times as long. It returns a function that ends the step.
local function change_together(shelf, ids)
  local scores, records, found = call('ZMSCORE', shelf.index, unpack(ids)), call('HMGET', shelf.jobs, unpack(ids)), {}
  for i, job in ipairs(ids) do found[job] = shelved(shelf, job, scores[i], records[i]) end
  local removed, moved, freed = {}, {}, 0
  on_shelf = function(_, job)
    local one = found[job]
    found[job] = nil -- it may be there twice
    return one
  end
  take_out = function(job)
    removed[#removed + 1], freed = job.id, freed + job.size
  end
  enter = function(line, job, stored_record, ...)
    local entry = call('XADD', KEYS[line], '*', 'id', job, 'job', stored_record, ...)
    moved[#moved + 1], moved[#moved + 2] = job, line .. ' ' .. entry
  end
  return function()
    if #removed > 0 then
      call('ZREM', shelf.index, unpack(removed))
      call('HDEL', shelf.jobs, unpack(removed))
    end
    if shelf.bytes_field and freed > 0 then call('HINCRBY', META, shelf.bytes_field, -freed) end
    if #moved > 0 then call('HSET', MOVED, unpack(moved)) end
  end
end

if verb == 'begin' then
  if stored.owner == owner then return show() end
  if stored.status then return {'known'} end
  if taken() then return {'busy', turn_id} end
  local given = {}
  for i = 6, #ARGV, 2 do given[ARGV[i]] = ARGV[i + 1] end
  local as_of = tonumber(given.as_of)
  if now - as_of > tonumber(ARGV[5]) then return {'old'} end
  free(given['do'])
  take_turn()
  store('owner', owner, 'status', 'running', 'step', 0, 'examined', 0, 'changed', 0, 'left', 0, 'began', int(now), 'last', int(now), unpack(ARGV, 6))
  store('as_of', int(math.min(as_of, now + 1)))
  keep_for_a_month()
  return show()
end

if not stored.status then return {'none'} end
if verb == 'show' then return show() end
if verb == 'continue' then
  if stored.status == 'done' then return {'ended'} end
  if taken() and turn_owner ~= owner then return {'busy', turn_id} end
  free(stored['do'])
  take_turn()
  store('owner', owner, 'status', 'running', 'last', int(now))
  call('HDEL', OPERATION_RECORD, 'ended', 'error')
  record = call('HGETALL', OPERATION_RECORD)
  keep_for_a_month()
  return show()
end
free(stored['do'])
if verb == 'stop' then
  allow_when_full()
  if stored.status == 'running' then
    store('status', 'stopped', 'ended', int(now), 'error', owner or '')
    keep_for_a_month()
    give_up()
  end
  return show()
end

if stored.status ~= 'running' then return show() end
local number = tonumber(ARGV[5])
if stored.owner ~= owner or turn_id and turn_id ~= id and taken() then return {'lost'} end
if number == tonumber(stored.step) then return show() end
if number ~= tonumber(stored.step) + 1 then return {'lost'} end

local as_of, changed, cursor, status = tonumber(stored.as_of), 0, ARGV[6], 'running'
local examined
local room = stored.at_least == '' and tonumber(stored.count) - tonumber(stored.changed) or math.huge
if verb == 'purge' then
  local limit = math.min(tonumber(ARGV[6]), room)
  cursor = ''
  if limit > 0 then changed, cursor = purge(tonumber(stored.cursor) or 1, as_of, limit) end
  examined = changed
  count('deleted', changed)
  if cursor == '' then status = 'done' end
else
  local locate_one = stored.state == '' and function(_, job) return locate(job) end or locate_in
  local change, counted, count_now = operate[stored['do']], {}, count
  -- The first job of each sort is counted at once, which a full Redis refuses before anything has
  -- changed, and the others together.
  count = function(name, n)
    if counted[name] then
      counted[name] = counted[name] + n
    else
      counted[name] = 0
      count_now(name, n)
    end
  end
  local finish_step
  for _, shelf in ipairs(SHELVES) do
    if shelf.state == stored.state and #ARGV > 8 then finish_step = change_together(shelf, {unpack(ARGV, 9)}) end
  end
  for i = 9, #ARGV do
    local job = changed < room and ARGV[i] ~= '' and locate_one(stored.state, ARGV[i])
    local did = job and entered_at(job) < as_of and change(job, stored.letter)
    if did == 'ok' or did == 'same' and stored.ids ~= '' then changed = changed + 1 end -- a named job that has the priority counts
  end
  if finish_step then finish_step() end
  for name, n in pairs(counted) do count_now(name, n) end
  examined = tonumber(ARGV[7])
  if ARGV[8] == 'done' or changed == room then status = 'done' end
end
local new_turn = not turn_id -- another operation has ended meanwhile, so the key has no expiry
take_turn()
store('step', number, 'cursor', cursor, 'last', int(now), 'status', status,
  'examined', int(tonumber(stored.examined) + examined), 'changed', int(tonumber(stored.changed) + changed),
  'left', int(tonumber(stored.left) + math.max(0, #ARGV - 8 - changed)))
if status == 'done' then store('ended', int(now)) end
if status == 'done' or new_turn or number % KEEP_EVERY == 0 then keep_for_a_month() end
if status == 'done' then give_up() end
return show()
