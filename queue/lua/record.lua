-- Records; record.go describes the format.

local function field(name, value)
  value = tostring(value)
  return #name .. ':' .. name .. #value .. ':' .. value
end

-- span parses a length-prefixed text at index at, and returns the indexes of its first and its
-- last byte, or nil if the record is damaged. Any client may have written the record: a length
-- such as "-3" is refused.
local function span(record, at)
  local digits, first = string.match(record, '^(%d+):()', at)
  if not digits or #digits > 9 then return nil end
  local last = first + tonumber(digits) - 1
  if last > #record then return nil end
  return first, last
end

-- part returns the text at index at and the next index, or nil if the record is damaged.
local function part(record, at)
  local first, last = span(record, at)
  if first then return string.sub(record, first, last), last + 1 end
end

-- join concatenates texts. An embedded server takes only some thousand values in one
-- call.
local function join(parts)
  if #parts <= 200 then return table.concat(parts) end
  local joined = {}
  for i = 1, #parts, 200 do
    joined[#joined + 1] = table.concat(parts, '', i, math.min(i + 199, #parts))
  end
  return table.concat(joined)
end

-- next_field returns the name of the field of a record at index at, and the indexes of the first
-- and the last byte of its value, or nil if the record is damaged. The value is not copied.
local function next_field(record, at)
  -- Names of Skidway end with no digit, so one match finds all; it takes half the time.
  local name_size, name, size, first = string.match(record, '^(%d+):(%a[%a_]*)(%d+):()', at)
  if name and #name_size <= 9 and #size <= 9 and #name == tonumber(name_size) then
    local last = first + tonumber(size) - 1
    if last <= #record then return name, first, last end
    return nil
  end
  local last
  name, at = part(record, at)
  if name then first, last = span(record, at) end
  if first then return name, first, last end
end

-- find returns the last value of a name in a record, or nil. It stops where the record
-- is damaged.
local function find(record, name)
  local at, found, found_end = 3, nil, nil
  while at <= #record do
    local this, first, last = next_field(record, at)
    if not this then break end
    if this == name then found, found_end = first, last end
    at = last + 1
  end
  return found and string.sub(record, found, found_end)
end

-- values_of returns a table with the last values of some names in a record, nil if the record is
-- damaged. For each other name of the record the table has the value true.
local function values_of(record, names)
  local values, at = {}, 3
  while at <= #record do
    local name, first, last = next_field(record, at)
    if not name then return nil end
    values[name] = not names[name] or string.sub(record, first, last)
    at = last + 1
  end
  return values
end

-- without returns a record without the fields with some names, or nil if it is damaged.
local function without(record, names)
  local kept, at, from = {}, 3, 1
  while at <= #record do
    local name, _, last = next_field(record, at)
    if not name then return nil end
    if names[name] then
      kept[#kept + 1] = string.sub(record, from, at - 1)
      from = last + 1
    end
    at = last + 1
  end
  kept[#kept + 1] = string.sub(record, from)
  return join(kept)
end

-- get returns the last value of a name among the fields of an entry, else in the record in
-- its field job, or nil.
local function get(fields, name)
  local found, record
  for i = 1, #fields - 1, 2 do
    if fields[i] == name then found = fields[i + 1] end
    if fields[i] == 'job' then record = fields[i + 1] end
  end
  return found or record and find(record, name)
end

-- set sets a field of an entry.
local function set(fields, name, value)
  for i = 1, #fields - 1, 2 do
    if fields[i] == name then
      fields[i + 1] = value
      return
    end
  end
  fields[#fields + 1] = name
  fields[#fields + 1] = value
end

-- record_of returns the record of an entry: the record in its field job, if any, with the
-- other fields appended.
local function record_of(line, fields)
  local record = FORMAT .. letter_of(line)
  local appended = {}
  for i = 1, #fields - 1, 2 do
    local name, value = fields[i], fields[i + 1]
    if name == 'job' and string.sub(value, 1, 1) == FORMAT then
      record = record .. string.sub(value, 3)
    elseif name ~= 'id' then
      appended[#appended + 1] = field(name, value)
    end
  end
  return record .. join(appended)
end

-- id_of returns the local id of the job in an entry. The id of a fresh entry is derived
-- from the entry: clients must not choose ids.
local function id_of(line, entry, fields)
  if not is_fresh(line) then
    for i = 1, #fields - 1, 2 do
      if fields[i] == 'id' then return fields[i + 1] end
    end
  end
  return letter_of(line) .. entry
end

-- The due line of each priority, by its letter: it stands between the returned and the
-- fresh line.
local DUE_LINE = {h = 2, n = 5, l = 8}
local RETRY_LINE = {h = 10, n = 11, l = 12}
local QUARANTINE_LINE = {h = 13, n = 14, l = 15}

-- due_line returns the due line of a priority, or nil for another letter.
local function due_line(letter) return DUE_LINE[letter] end

-- A delayed job without other options has a short record: the letter of its priority, its
-- kind, a space and its args.

-- short_parts returns the letter, the kind and the args of a short record, or nil for
-- another text.
local function short_parts(text)
  local letter = string.sub(text, 1, 1)
  local space = due_line(letter) and string.find(text, ' ', 3, true)
  if space then return letter, string.sub(text, 2, space - 1), string.sub(text, space + 1) end
end

-- long_record returns the record that a short one stands for, and any other text as it is.
local function long_record(text)
  local letter, kind, args = short_parts(text)
  return letter and FORMAT .. letter .. field('kind', kind) .. field('args', args) or text
end

-- The record of a job that failed ends with RETRY_MARK while the job is delayed.
local RETRY_MARK = field('retry', 1)

-- Lua reads every byte of each text that it makes, which takes 1.3 ms for 1 MiB. So a worker that
-- writes a record of at least LARGE bytes has completed it, by its view of Redis's clock.
local LARGE = 65536

-- completed returns the record of a worker, with a field for the time if it has none, and with
-- mark.
local function completed(record, name, mark)
  if #record >= LARGE then return record end
  return record .. (name and field(name, int(now)) or '') .. (mark or '')
end

-- entry_line returns the line that a delayed job enters when it is due, or nil if its record
-- has another format or no priority.
local function entry_line(record)
  if string.sub(record, 1, 1) ~= FORMAT then return nil end
  local letter = string.sub(record, 2, 2)
  return string.sub(record, -#RETRY_MARK) == RETRY_MARK and RETRY_LINE[letter] or due_line(letter)
end

-- Redis does not tell the sizes of records before it has read them, but by one call for each. So
-- META holds the size of the largest record that was stored by id, if that exceeds SMALL.
local SMALL, largest = 1024, nil

-- note_size is called with each record that is stored by id.
local function note_size(record)
  if #record <= SMALL then return end
  largest = largest or tonumber(call('HGET', META, 'largest')) or SMALL
  if #record > largest then
    largest = #record
    call('HSET', META, 'largest', largest)
  end
end

-- count_fitting returns how many of the first records with these ids are no more than some bytes,
-- at least one.
local function count_fitting(jobs, ids, bytes)
  if #ids * (tonumber(call('HGET', META, 'largest')) or SMALL) <= bytes then return #ids end
  for i = 1, #ids do
    bytes = bytes - call('HSTRLEN', jobs, ids[i])
    if bytes < 0 and i > 1 then return i - 1 end
  end
  return #ids
end

-- malformed returns a record of an entry that is not a valid job; its args are all that
-- was found.
local function malformed(line, fields, reason)
  local found = {}
  for i = 1, #fields - 1, 2 do found[#found + 1] = field(fields[i], fields[i + 1]) end
  return FORMAT .. letter_of(line) .. field('kind', '') .. field('args', join(found)) .. field('reason', reason)
end
