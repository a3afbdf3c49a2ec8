-- A read of several entries takes what comes, however large. Redis stores a stream in nodes, of at
-- most 4 KiB unless one entry is larger, and tells their mean size from the first ones.
-- @include groups
local NODES, MAX_NODE = 128, 8192
local PENDING_BYTES = 640 -- of a pending entry, which count as well

-- are_small reports whether the next entries of a line, as many as wanted, may be read at once: the
-- first NODES nodes have at most NODES * MAX_NODE bytes, and hold these entries even if each has
-- few, or the nodes of the line have many each. It is false where the server does not tell.
local function are_small(line, wanted)
  if not STREAMS_COUNT then return true end -- the embedded server, which has no other clients
  local bytes = redis.pcall('MEMORY', 'USAGE', KEYS[line], 'SAMPLES', NODES)
  if type(bytes) ~= 'number' then return false end
  local entries = call('XLEN', KEYS[line])
  if bytes > entries * (MAX_NODE + PENDING_BYTES) then return false end -- a node has at least one
  local nodes = fields_of(call('XINFO', 'STREAM', KEYS[line]))['radix-tree-keys']
  local workers = find_group(KEYS[line], GROUP)
  bytes = bytes - PENDING_BYTES * (workers and workers.pending or 0)
  return bytes <= nodes * MAX_NODE and (wanted <= NODES or entries >= 16 * nodes)
end
