-- is_newer reports whether a commit of a source comes after the one that the subscriber has, in the
-- form 'EPOCH COMMIT IMPORT', or false.
local function is_newer(have, epoch, commit)
  if not have then return true end
  local e, c = string.match(have, '^(%d+) (%d+) ')
  e, c, epoch, commit = tonumber(e or 0), tonumber(c or 0), tonumber(epoch), tonumber(commit)
  return epoch > e or epoch == e and commit > c
end
