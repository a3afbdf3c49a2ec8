-- Returns the function that releases the unique key of a job that held it while it was
-- waiting, for fetch.lua.
return function(line, entry, fields)
  if get(fields, 'scope') == 'waiting' then
    release(get(fields, 'unique'), id_of(line, entry, fields))
  end
end
