-- Opens the lease of the worker, for fetch.lua.
write_format()
note_renewal(0) -- before the lease exists: it starts an amnesty after a silence of the others
call('ZADD', LENGTHS, length, worker)
call('ZADD', LEASES, int(now + length), worker)
length = 0
