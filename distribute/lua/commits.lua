-- commits_of returns the number of the last commit of a shipment, '0' if there is none.
-- part is the shipment of the last commit, commits its number. Text that is not the
-- number of a commit, from a foreign client, is '0'.
local function commits_of(shipment, part, commits)
  if part ~= shipment or not string.find(commits or '', '^[1-9]%d*$') or #commits > 15 then return '0' end
  return commits
end
