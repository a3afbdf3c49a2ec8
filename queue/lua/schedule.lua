-- What scripts of schedules share. Their keys come behind those of the queue:
--   schedules        hash: name → record, see schedule_store.go
--   schedules:due    sorted set: name → time in ms at which it fires next
--   schedules:fired  hash: name → its last firings, see schedule_job.lua
--   schedules:watch  hash: who watches, see schedule_due.lua

-- version_of returns a text that is another one for each record, also where
-- records are damaged.
local function version_of(record)
  return redis.sha1hex(record)
end
