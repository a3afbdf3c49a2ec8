-- epoch_of returns the epoch of a subscriber, which each reset begins anew; '' is the first one.
local function epoch_of() return call('HGET', SUBSCRIBER, 'epoch') or '' end
