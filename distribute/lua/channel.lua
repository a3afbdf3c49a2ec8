-- What the scripts of a channel share.
-- @include clock
-- @include int
local call = redis.call

-- alive reports whether a lease, the score of a row or false, ends after now.
local function alive(lease, now) return lease and tonumber(lease) > now end
