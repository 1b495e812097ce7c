--- Logs an account out on all devices but one, as after a change of the password.
---
--- A device that is not logged in cannot do that: such a call is refused, and writes nothing.
--- @use clock
--- @subject the account
--- @key    devices     zset[devices]          devices by when they were used last
--- @arg    device      text[64]               the device that stays
--- @result allowed     bool                   false: the device is not logged in
--- @result logged_out  count[0..20]           devices that were logged out
local function logout_others(devices, device)
  local now_us = clock.now_us()
  local idle_us = 2592000000000
  local last_us = tonumber(redis.call('ZSCORE', devices, device))
  if not last_us or last_us <= now_us - idle_us then
    return false, 0
  end
  local others = redis.call('ZCARD', devices) - 1
  if others == 0 then
    return true, 0
  end
  redis.call('DEL', devices)
  redis.call('ZADD', devices, clock.text(last_us), device)
  return true, math.min(others, 20)
end
