-- Returns the function that adds one job with options, for enqueue.lua. It returns
-- the job's id, or '=' and the id of the holder of its unique key. write_delayed must be
-- called after it.
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
