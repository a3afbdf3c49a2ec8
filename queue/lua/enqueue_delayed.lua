-- Returns the function that adds n delayed jobs without other options, for enqueue_groups.lua.
-- It is passed
--   base: the time in ms to which the times of the jobs are added, 0 if they are absolute
--   first: the index in ARGV from which on the times, in ms, and the short records of the jobs
--     follow in turn
--   n: their number
--   ids: the list to which it appends their ids, and returns nothing
-- Jobs that are due enter their lines at once, the others when write_delayed is called, which must
-- follow. It counts no jobs.
return function(base, first, n, ids)
  local number, has_time = next_numbers(n)
  for i = first, first + 2 * n - 2, 2 do
    local time, record, id = ARGV[i], ARGV[i + 1], id_of_number(number)
    local due = base + tonumber(time)
    if not has_time then record = long_record(record) .. field('enqueued', int(now)) end
    if due > now then
      delay_later(id, record, due, base == 0 and time or int(due))
    else
      call('HSET', MOVED, id, enter_due(id, record))
    end
    ids[#ids + 1] = id
    number = number + 1
    event('enqueued', id)
  end
end
