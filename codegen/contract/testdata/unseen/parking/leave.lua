--- Ends a car's time and returns how much of it was left, or by how much it was exceeded.
---
--- Whole minutes that are left are paid back, two days at most. Leaving again is not an error: then the car is not known.
--- @use clock
--- @subject the car park
--- @key    cars        zset[cars]                 cars by the end of their time
--- @arg    plate       text[16]                   the car
--- @arg    per_minute  micros[0..10000000]        what is paid back for a minute
--- @result known       bool                       whether the car park knew the car
--- @result unused      duration                   what was left of the time
--- @result over        duration                   by how much the time was exceeded
--- @result back        micros[0..28800000000]     what is paid back
local function leave(cars, plate, per_minute_micros)
  local text = redis.call('ZSCORE', cars, plate)
  if not text then
    return false, 0, 0, 0
  end
  redis.call('ZREM', cars, plate)
  local left_us = (tonumber(text) or 0) - clock.now_us()
  if left_us < 0 then
    return true, 0, -left_us, 0
  end
  local minutes = math.floor(left_us / 60000000)
  if minutes == 0 then
    return true, left_us, 0, 0
  end
  return true, left_us, 0, math.min(minutes, 2880) * per_minute_micros
end
