--- Says that a driver is free. A city has at most 5000 free drivers: beyond that, those who reported longest ago are left out.
--- @use clock
--- @subject the city
--- @key    drivers     zset[drivers]         free drivers by the time of their last report
--- @arg    driver      text[64]              the driver
--- @result listed      bool                  whether the driver is among the free ones now
--- @result free        count[0..5000]        free drivers after the call
--- @result ago         duration?             how long ago the driver's last report was; none for the first
local function report(drivers, driver)
  local now_us = clock.now_us()
  local most, forget_us = 5000, 600000000
  local last_us = tonumber(redis.call('ZSCORE', drivers, driver))
  redis.call('ZREMRANGEBYSCORE', drivers, '-inf', string.format('(%.0f', now_us - forget_us))
  redis.call('ZADD', drivers, 'GT', clock.text(now_us), driver)
  redis.call('ZREMRANGEBYRANK', drivers, 0, -most - 1)
  clock.expire_after(drivers, forget_us)
  local listed = redis.call('ZSCORE', drivers, driver) ~= false
  local free = redis.call('ZCARD', drivers)
  if not last_us then
    return listed, free, nil
  end
  return listed, free, math.max(now_us - last_us, 0)
end
