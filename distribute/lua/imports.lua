-- is_same reports whether a subscriber is as it was read. Each reset begins another epoch.
local function is_same(subscriber, settings, epoch)
  return call('HGET', SUBSCRIBERS, subscriber) == settings and epoch_of() == epoch
end
