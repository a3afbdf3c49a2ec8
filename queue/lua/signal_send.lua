-- Sends a signal to the workers of the queue. Twice does no harm.
-- ARGV: what they are to do, and more fields with their values, see pool_signal.go.
-- Returns {'ok'}.
-- @include queue when_full signal
signal(unpack(ARGV))
return {'ok'}
