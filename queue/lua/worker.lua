-- Refuses calls of a worker without a lease; ARGV[1] is its name.
local worker = ARGV[1]
if not call('ZSCORE', LEASES, worker) then return {'lost'} end
