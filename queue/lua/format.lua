-- The format of a queue's keys and records; the same as formatVersion in Go.
local FORMAT = '2'
