-- Removes a person from the room.
-- Returns {'ok'}: the person is not in the room
-- @include opened_room

redis.call('ZREM', PEOPLE, ARGV[1])
redis.call('HDEL', NICKS, ARGV[1])
return {'ok'}
