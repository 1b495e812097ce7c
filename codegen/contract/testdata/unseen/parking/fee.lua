--- Returns what a car owes for the time after its end, for each minute that has begun; writes nothing.
---
--- Minutes after the first hour cost twice as much. Within the grace nothing is owed.
--- @use clock
--- @flags  no-writes
--- @subject the car park
--- @key    cars        zset[cars]                     cars by the end of their time
--- @arg    plate       text[16]                       the car
--- @arg    per_minute  micros[1000..10000000]         price of a minute
--- @arg    most        micros[1000000..1000000000]    most that a car owes
--- @arg    grace       duration[0us..15m]=1m          how long the car may stay after its end
--- @result known       bool                           whether the car park knows the car
--- @result over        duration                       how long the car has stayed too long
--- @result due         micros[0..1000000000]          what it owes
local function fee(cars, plate, per_minute_micros, most_micros, grace_us)
  local now_us = clock.now_us()
  local ends_us = tonumber(redis.call('ZSCORE', cars, plate))
  if not ends_us then
    return false, 0, 0
  end
  local over_us = math.max(now_us - ends_us, 0)
  if over_us <= grace_us then
    return true, over_us, 0
  end
  local minutes = math.ceil(over_us / 60000)
  local due_micros = minutes * per_minute_micros
  if minutes > 60 then
    due_micros = due_micros + (minutes - 60) * per_minute_micros
  end
  return true, over_us, math.min(due_micros, most_micros)
end
