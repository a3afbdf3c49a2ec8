-- The jobs of a dead worker become two groups of half the size each, which are quarantined;
-- those that it held of a quarantined group are halved separately. A cohort counts them:
--   others, others_done      jobs of other lines: those that the worker held when its lease
--                            became a tombstone, and those of them that have been recovered
--   group, group_done        jobs of quarantine lines
--   closed                   the worker had closed its lease: no job is quarantined

-- count_cohort returns a cohort with the jobs that a worker holds.
local function count_cohort(worker)
  local cohort = {others = 0, others_done = 0, group = 0, group_done = 0}
  for line = 1, LINES do
    if call('EXISTS', KEYS[line]) == 1 then
      local held = redis.pcall('XPENDING', KEYS[line], GROUP)
      local name = is_quarantine(line) and 'group' or 'others'
      for _, consumer in ipairs(not held.err and held[4] or {}) do
        if consumer[1] == worker then cohort[name] = cohort[name] + tonumber(consumer[2]) end
      end
    end
  end
  return cohort
end

local function write_cohort(worker, cohort)
  if cohort.closed then return end
  call('HSET', COHORTS, worker, cohort.others .. ' ' .. cohort.others_done .. ' ' .. cohort.group .. ' ' .. cohort.group_done)
end

-- read_cohort returns the cohort of a worker with a tombstone.
local function read_cohort(worker)
  local stored = call('HGET', COHORTS, worker) or ''
  if stored == 'closed' then return {closed = true} end
  local others, others_done, group, group_done = string.match(stored, '^(%d+) (%d+) (%d+) (%d+)$')
  if not others then return count_cohort(worker) end
  return {others = tonumber(others), others_done = tonumber(others_done), group = tonumber(group), group_done = tonumber(group_done)}
end

-- next_group returns the group of the next job of a cohort, and the number of jobs with which
-- that group begins. Names of workers are never used again, so those of groups are not either.
local function next_group(worker, cohort, line)
  if cohort.closed then return end
  local name = is_quarantine(line) and 'group' or 'others'
  local all, done = cohort[name], cohort[name .. '_done']
  cohort[name .. '_done'] = done + 1
  local first = math.ceil(all / 2)
  if done < first then return worker .. '/' .. name .. '-1', first end
  return worker .. '/' .. name .. '-2', all - first
end
