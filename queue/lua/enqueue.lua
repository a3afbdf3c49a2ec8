-- Adds jobs, all or none.
-- ARGV: groups:
--   'plain', line, kind, n, args of n jobs without options
--   'job', letter of the priority, record, delay, time, unique key, ms to hold it
--       times in ms, '' for none; a time in the past means now
-- Returns 'ok' and an id for each job, in order; for a duplicate '=' and the id
-- of the job that holds its unique key.
-- @include queue
-- @lazy job_adder place unique enqueue_job
local ids, added, n = {'ok'}, 0, 1
local job -- built for the first job with options

write_format()
local i, last = 1, #ARGV
while i <= last do
  if ARGV[i] == 'plain' then
    local line, kind, more = tonumber(ARGV[i + 1]), ARGV[i + 2], tonumber(ARGV[i + 3])
    local key, letter = KEYS[line], letter_of(line)
    for a = i + 4, i + 3 + more do
      local id = letter .. call('XADD', key, '*', 'kind', kind, 'args', ARGV[a])
      n = n + 1
      ids[n] = id
      event('enqueued', id)
    end
    added = added + more
    i = i + 4 + more
  else
    job = job or job_adder()
    n = n + 1
    ids[n] = job(ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5], ARGV[i + 6])
    if string.sub(ids[n], 1, 1) ~= '=' then added = added + 1 end
    i = i + 7
  end
end
count('enqueued', added)
return ids
