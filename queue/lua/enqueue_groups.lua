-- Function for adding jobs.
-- @include entry
-- @lazy job_adder place unique enqueue_job
-- @lazy delayed_adder enqueue_delayed

-- add_groups adds jobs and appends an id for each to ids, in order; for a duplicate '=' and the
-- id of the job that holds its unique key. It returns ids. ARGV has groups from i on:
--   'plain', line, kind, n, args of n jobs without options
--   'plain', line, '', n, n records of jobs without delay and unique key
--   'delayed', 'in' or 'at', n, times and short records of n jobs without other options, in
--       turn; the times are relative after 'in'
--   'job', letter of the priority, record, delay, time, unique key, ms to hold it
--       times in ms, '' for none; a time in the past means now
local function add_groups(ids, i)
  local added, n, last = 0, #ids, #ARGV
  local job, delayed -- built for the first job that needs it
  write_format()
  while i <= last do
    if ARGV[i] == 'plain' then
      local line, kind, more = tonumber(ARGV[i + 1]), ARGV[i + 2], tonumber(ARGV[i + 3])
      local key, letter = KEYS[line], letter_of(line)
      for a = i + 4, i + 3 + more do
        local id = letter .. add_entry(key, kind, ARGV[a])
        n = n + 1
        ids[n] = id
        event('enqueued', id)
      end
      if not STREAMS_COUNT then added = added + more end
      i = i + 4 + more
    elseif ARGV[i] == 'delayed' then
      delayed = delayed or delayed_adder()
      local more = tonumber(ARGV[i + 2])
      delayed(ARGV[i + 1] == 'in' and now or 0, i + 3, more, ids)
      n, added = n + more, added + more
      i = i + 3 + 2 * more
    else
      job = job or job_adder()
      n = n + 1
      ids[n] = job(ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5], ARGV[i + 6])
      if must_count(ids[n]) then added = added + 1 end
      i = i + 7
    end
  end
  write_delayed()
  count('enqueued', added)
  return ids
end
