--- Lists the devices on which an account is logged in, the last used first; writes nothing.
--- @use clock
--- @flags  no-writes
--- @subject the account
--- @key    devices          zset[devices]           devices by when they were used last
--- @result devices          group[0..20]            the devices
--- @result devices.device   text[64]                the device
--- @result devices.unused   duration                how long it has not been used
--- @result devices.ends     duration                how long it stays logged in if it is not used
local function list(devices)
  local now_us = clock.now_us()
  local idle_us = 2592000000000
  local found = redis.call('ZREVRANGE', devices, 0, 19, 'WITHSCORES')
  local rows = {}
  for i = 1, #found, 2 do
    local unused_us = math.max(now_us - (tonumber(found[i + 1]) or 0), 0)
    if unused_us >= idle_us then
      break
    end
    rows[#rows + 1] = {device = found[i], unused_us = unused_us, ends_us = idle_us - unused_us}
  end
  return rows
end
