--- Adds to the time of a car, up to two days from now.
---
--- Without a running time the call is refused, and writes nothing.
--- @use clock
--- @subject the car park
--- @key    cars        zset[cars]            cars by the end of their time
--- @arg    plate       text[16]              the car
--- @arg    paid        duration[5m..1d]      the time that is paid
--- @result extended    bool                  false: the car's time is over, or never began
--- @result ends_after  duration[0us..2d]     what its time has left
--- @refused extended
local function extend(cars, plate, paid_us)
  local now_us = clock.now_us()
  local most_us = 172800000000
  local ends_us = tonumber(redis.call('ZSCORE', cars, plate))
  if not ends_us or ends_us <= now_us then
    return false, 0
  end
  local after_us = math.min(ends_us + paid_us, now_us + most_us)
  if after_us > ends_us then
    redis.call('ZADD', cars, 'XX', clock.text(after_us), plate)
    clock.expire(cars, after_us - now_us)
  end
  return true, math.min(after_us - now_us, most_us)
end
