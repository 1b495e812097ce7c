--- Begins a car's time, if a place is free.
---
--- A car whose time runs keeps it. A refused call writes nothing.
--- @use clock
--- @subject the car park
--- @key    cars        zset[cars]            cars by the end of their time
--- @arg    plate       text[16]              the car
--- @arg    paid        duration[5m..1d]      the time that is paid
--- @arg    places      count[1..5000]        places of the car park
--- @result allowed     bool                  whether the car may stand there
--- @result ends_after  duration              what its time has left; 0 when refused
--- @result free        count[0..5000]        places that are free after the call
--- @result retry_after duration              wait until a place is free; 0 when allowed
local function start(cars, plate, paid_us, places)
  local now_us = clock.now_us()
  local open = '(' .. string.format('%.0f', now_us)
  local taken = redis.call('ZCOUNT', cars, open, '+inf')
  local ends_us = tonumber(redis.call('ZSCORE', cars, plate)) or 0
  if ends_us > now_us then
    return true, ends_us - now_us, math.max(places - taken, 0), 0
  end
  if taken >= places then
    local next_end = redis.call('ZRANGEBYSCORE', cars, open, '+inf', 'WITHSCORES', 'LIMIT', taken - places, 1)
    return false, 0, 0, math.max((tonumber(next_end[2]) or now_us) - now_us, 1)
  end
  redis.call('ZREMRANGEBYSCORE', cars, '-inf', clock.text(now_us - 86400000000))
  redis.call('ZADD', cars, clock.text(now_us + paid_us), plate)
  clock.extend(cars, paid_us + 86400000000)
  return true, paid_us, places - taken - 1, 0
end
