--- Counts that a driver declined a ride. Drivers who decline often are asked last.
---
--- A ride that the driver has accepted cannot be declined: then nothing is written.
--- @use clock
--- @subject the city
--- @key    taken       string[ride:<ride>]   the driver who has the ride
--- @key    declined    zset[declined]        drivers by how often they declined
--- @arg    ride        text[64]              the ride
--- @arg    driver      text[64]              who declines
--- @arg    keep        duration[1h..7d]=1d   how long it is counted, since the last time
--- @result counted     bool                  false: the driver has the ride
--- @result times       count[0..1000000]     how often the driver has declined
--- @refused counted
local function decline(taken, declined, ride, driver, keep_us)
  local times = tonumber(redis.call('ZSCORE', declined, driver)) or 0
  times = math.min(times, 1000000)
  if redis.call('GET', taken) == driver then
    return false, times
  end
  if times < 1000000 then
    times = times + 1
    redis.call('ZINCRBY', declined, driver, 1)
  end
  redis.call('ZREMRANGEBYRANK', declined, 0, -10001)
  clock.extend(declined, keep_us)
  return true, times
end
