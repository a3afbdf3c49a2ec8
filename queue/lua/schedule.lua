-- The beginning of scripts of schedules. Their keys follow those of the queue:
--   schedules        hash: name → record, see schedule_store.go
--   schedules:due    sorted set: name → time in ms at which it fires next
--   schedules:fired  hash: name → its last firings, see schedule_job.lua
--   schedules:watch  hash: the watch, see schedule_due.lua

-- version_of returns a text that differs for different records, also for damaged
-- ones.
local function version_of(record)
  return redis.sha1hex(record)
end
