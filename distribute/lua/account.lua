-- expire_lines moves n lines that have a number of an account, such as counted, to the expired ones.
local function expire_lines(name, n)
  if n == 0 then return end
  call('HINCRBY', SUBSCRIBER, name, int(-n))
  if name == 'counted' or name == 'unknown' then call('HINCRBY', SUBSCRIBER, 'expired', int(n)) end
end

-- names_of_account are the numbers of an account.
local names_of_account = {'counted', 'unknown', 'private', 'crawlers'}
