-- signal wakes those who wait for something in the channel.
local function signal(event, subject) call('XADD', WAKE, 'MAXLEN', 1, '*', event, subject) end
