-- Returns the salt of a queue, which the first call sets.
-- ARGV: salt to set if there is none
-- Returns {'ok', salt}.
-- @include queue
local salt = call('HGET', META, 'salt')
if not salt then
  call('ZREM', TOMBS, '') -- a first write lets the script run in a full Redis
  salt = ARGV[1]
  call('HSET', META, 'salt', salt)
  write_format()
end
return {'ok', salt}
