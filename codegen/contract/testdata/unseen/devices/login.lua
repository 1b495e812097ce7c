--- Logs an account in on a device. Beyond most, the devices that were used longest ago are logged out.
--- @use clock
--- @subject the account
--- @key    devices     zset[devices]          devices by when they were used last
--- @arg    device      text[64]               the device
--- @arg    most        count[1..20]=5         most devices at a time
--- @result devices     count[1..20]           devices after the call
--- @result logged_out  text[0..64]            the device that was logged out, the last of several; otherwise empty
--- @result new         bool                   whether the device was not logged in before
local function login(devices, device, most)
  local now_us = clock.now_us()
  local idle_us = 2592000000000
  redis.call('ZREMRANGEBYSCORE', devices, '-inf', clock.text(now_us - idle_us))
  local new = redis.call('ZADD', devices, 'GT', clock.text(now_us), device) == 1
  clock.extend(devices, idle_us)
  local over = redis.call('ZCARD', devices) - most
  if over <= 0 then
    return most + over, '', new
  end
  local oldest = redis.call('ZRANGE', devices, 0, over)
  local logged_out = ''
  for i = 1, #oldest do
    if oldest[i] ~= device and over > 0 then
      redis.call('ZREM', devices, oldest[i])
      logged_out = oldest[i]
      over = over - 1
    end
  end
  return most, logged_out, new
end
