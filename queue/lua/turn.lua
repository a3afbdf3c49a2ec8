-- Of all who ask, the first to ask for a time is the one to come back at it; the
-- others come a little later, in case that one does not.

-- next_turn returns for how many ms to wait for a time, and whether it is the
-- caller's. waker has asked for waker_due before.
local function next_turn(due, caller, waker, waker_due)
  local wait = math.min(math.max(0, tonumber(due) - now), 86400000) -- a score can be anything
  return wait, waker_due ~= due or waker == caller
end
