-- Of all who ask, the first to ask for a time is the one to come back at it; the
-- others come a little later, in case that one does not.

-- next_turn returns for how many ms to wait for a score, and whether it is the
-- caller's. due is the score as it is kept in waker_due; waker was the last to
-- ask.
local function next_turn(score, due, caller, waker, waker_due)
  local wait = math.min(math.max(0, tonumber(score) - now), 86400000) -- a score can be anything
  return wait, waker_due ~= due or waker == caller
end
