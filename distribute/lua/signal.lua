-- signal wakes every process that waits for a change of the channel.
local function signal(event, subject) call('XADD', WAKE, 'MAXLEN', 1, '*', event, subject) end
