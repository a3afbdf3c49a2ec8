-- Returns the function that adds n delayed jobs without other options, for enqueue.lua: their
-- times and short records are in turn in ARGV from first on. It appends their ids to ids.
-- write_delayed must be called after it.
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
