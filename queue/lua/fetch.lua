-- Delivers jobs to a worker, from the lines in order.
-- ARGV: worker, maximum number of jobs, bytes after which to stop
-- Returns {'ok', now, groups}; {'empty', for each line the id after which new entries
-- come}; {'paused'}; {'lost'}.
-- A group is: line, number of entries, kind, entries. If kind is not '', an entry is: id,
-- args. If kind is '', it is: id, number of values that follow, names and values in turn.
-- @include queue worker groups
-- @lazy make_release_waiting_key place fetch_release
local jobs_left, bytes_left = tonumber(ARGV[2]), tonumber(ARGV[3])
if paused then return {'paused'} end

local function read(line, limit)
  local got = redis.pcall('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', limit, 'STREAMS', KEYS[line], '>')
  if got and got.err then
    if not string.find(got.err, 'NOGROUP', 1, true) then return error(got.err) end
    call('XGROUP', 'CREATE', KEYS[line], GROUP, '0')
    got = call('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', limit, 'STREAMS', KEYS[line], '>')
  end
  return got and got[1] and got[1][2]
end

local out, n = {'ok', int(now)}, 2
local group, line_of, kind_of -- the open group: place of its count in out, line, kind
local function open(line, kind)
  if line == line_of and kind == kind_of then
    out[group] = out[group] + 1
    return
  end
  line_of, kind_of, group = line, kind, n + 2
  out[n + 1], out[n + 2], out[n + 3] = line, 1, kind
  n = n + 3
end

local release_waiting_key -- built for the first job that may hold a key while waiting
local filled = {}
for line = 1, LINES do
  if call('XLEN', KEYS[line]) > 0 then
    filled[line] = true
    local limit = 1 -- a sample of how large jobs are
    while jobs_left > 0 and bytes_left > 0 do
      if limit > jobs_left then limit = jobs_left end
      local entries = read(line, limit)
      if not entries or #entries == 0 then break end
      local size = 0
      for e = 1, #entries do
        local entry, fields = entries[e][1], entries[e][2]
        if #fields == 4 and fields[1] == 'kind' and fields[3] == 'args' and fields[2] ~= '' then
          open(line, fields[2])
          out[n + 1], out[n + 2] = entry, fields[4]
          n = n + 2
          size = size + #fields[4]
        else
          open(line, '')
          out[n + 1], out[n + 2] = entry, #fields
          n = n + 2
          -- "waiting" occurs in some field; parsing every record would be slow.
          local maybe_waiting_scope = false
          for f = 1, #fields do
            out[n + f] = fields[f]
            maybe_waiting_scope = maybe_waiting_scope or string.find(fields[f], 'waiting', 1, true)
            size = size + #fields[f]
          end
          n = n + #fields
          if maybe_waiting_scope then
            release_waiting_key = release_waiting_key or make_release_waiting_key()
            release_waiting_key(line, entry, fields)
          end
        end
      end
      jobs_left, bytes_left = jobs_left - #entries, bytes_left - size
      if #entries < limit then break end
      -- The next jobs may be larger than these.
      limit = math.max(1, math.min(2 * #entries, math.floor(bytes_left * #entries / (size + 1))))
    end
  end
end
if n > 2 then return out end

out[1] = 'empty'
for line = 1, LINES do
  local workers = filled[line] and find_group(KEYS[line], GROUP)
  out[line + 1] = workers and workers['last-delivered-id'] or '0'
end
return out
