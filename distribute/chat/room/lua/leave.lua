-- Removes a person from the room.
-- Returns {'ok'}: not inside any more, or never was
-- @include opened_room

redis.call('ZREM', PEOPLE, ARGV[1])
redis.call('HDEL', NICKS, ARGV[1])
return {'ok'}
