-- Only a worker that has its lease may call the script; ARGV[1] is its name.
local worker = ARGV[1]
if not call('ZSCORE', LEASES, worker) then return {'lost'} end
