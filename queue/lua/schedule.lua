-- Put before every script of schedules, behind keys.lua.
-- KEYS: all keys of one queue, and behind them those of its schedules:
--   schedules        hash: name → record, see schedule_record.go
--   schedules:due    sorted set: name → time in ms at which it fires next
--   schedules:fired  hash: name → its last firings, see schedule_job.lua
--   schedules:watch  hash: who watches, see schedule_due.lua
local SCHEDULES, SCHEDULES_DUE = KEYS[#KEYS - 3], KEYS[#KEYS - 2]
local SCHEDULES_FIRED, SCHEDULES_WATCH = KEYS[#KEYS - 1], KEYS[#KEYS]

-- version_of tells a record from any other, also where both are damaged.
local function version_of(record)
  return redis.sha1hex(record)
end
