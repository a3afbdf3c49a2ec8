-- add_entry adds a job without options, or if kind is '' a record, to a line. It returns the id of
-- the entry.
local function add_entry(key, kind, text)
  if kind == '' then return call('XADD', key, '*', 'job', text) end
  return call('XADD', key, '*', 'kind', kind, 'args', text)
end
