-- The first caller that learns of the next due time is its waker: it calls again at that
-- time. The others call a little later, in case the waker has stopped.

-- next_turn returns the ms until a score, and whether the caller is the waker. due is the
-- score in the form of waker_due; waker and waker_due are the current ones.
local function next_turn(score, due, caller, waker, waker_due)
  local wait = math.min(math.max(0, tonumber(score) - now), 86400000) -- any client may have written the score
  return wait, waker_due ~= due or waker == caller
end
