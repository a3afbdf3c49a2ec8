-- Returns the function that adds one job with options, for enqueue_groups.lua, finish_others.lua
-- and schedule_job.lua. It is passed
--   letter: of the job's priority
--   record: the job
--   wait, at: its delay or its due time, in ms; both are '' for a job without a delay
--   key, key_ms: its unique key, '' for none, and the ms for which it is held, '' until it is
--     released
-- It returns the job's id, or '=' and the id of the holder of its unique key: then the job is not
-- added. For a job with a delay or a due time write_delayed must be called later, which adds it if it is
-- not due. The caller counts the job, see must_count.
return function(letter, record, wait, at, key, key_ms)
  if key ~= '' then
    local owner = holder_of_key(key)
    if owner then return '=' .. owner end
  end
  local due = at ~= '' and tonumber(at) or wait ~= '' and now + tonumber(wait)
  local id
  if due then
    id = id_of_number((next_numbers(1)))
    record = record .. field('enqueued', int(now))
    if due > now then
      delay_later(id, record, due, int(due))
    else
      enter(due_line(letter), id, record)
    end
  else
    id = letter .. call('XADD', KEYS[due_line(letter) + 1], '*', 'job', record)
  end
  if key ~= '' then hold(key, id, key_ms) end
  event('enqueued', id)
  return id
end
