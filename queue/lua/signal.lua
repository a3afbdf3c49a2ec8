-- signal sends a signal to the workers of the queue, see pool_signal.go.
local function signal(...)
  call('XADD', CONTROL, 'MAXLEN', '~', 1000, '*', 'do', ...)
end
