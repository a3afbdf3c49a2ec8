-- What the scripts share that end an upload.
-- @include done

-- end_upload marks an upload as complete, and wakes its readers: no block follows, and no room is
-- reserved for it any more. It reports whether the file is done, because no subscriber has to read
-- it to its end.
local function end_upload(id, shipment, length)
  call('HSET', FILE, 'state', 'uploaded')
  call('ZREM', UPLOADS, id)
  call('HDEL', RESERVES, id)
  call('XADD', FILE_WAKE, 'MAXLEN', 1, length .. '-2', 'complete', 1)
  return call('HLEN', SUBSCRIBERS) > 0 and mark_done(id, shipment)
end
