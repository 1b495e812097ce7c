--- Says that a device is used, if it is logged in and not blocked.
---
--- A refused call writes nothing.
--- @use clock
--- @subject the account
--- @key    devices     zset[devices]          devices by when they were used last
--- @key    blocked     set[blocked]           devices that the user reported as stolen, kept by the account's own service for a year
--- @arg    device      text[64]               the device
--- @result outcome     enum(used,blocked,logged_out) logged_out: or never logged in
--- @result unused      duration               how long it was not used before; 0 when refused
--- @refused outcome blocked logged_out
local function touch(devices, blocked, device)
  local now_us = clock.now_us()
  local idle_us = 2592000000000
  if redis.call('SISMEMBER', blocked, device) then
    return 'blocked', 0
  end
  local last_us = tonumber(redis.call('ZSCORE', devices, device))
  if not last_us or last_us <= now_us - idle_us then
    return 'logged_out', 0
  end
  redis.call('ZADD', devices, 'XX', 'GT', clock.text(now_us), device)
  clock.extend(devices, idle_us)
  return 'used', math.max(now_us - last_us, 0)
end
