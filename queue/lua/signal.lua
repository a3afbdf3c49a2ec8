-- signal tells the workers of the queue something at once, see signal.go.
local function signal(...)
  call('XADD', CONTROL, 'MAXLEN', '~', 1000, '*', 'do', ...)
end
