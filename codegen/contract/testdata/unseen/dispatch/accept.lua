--- Gives a ride to the first driver who accepts it. That driver is then not free, and cannot accept another one meanwhile.
---
--- The same driver again has accepted. A refused call writes nothing.
--- @use clock
--- @subject the city
--- @key    drivers     zset[drivers]            free drivers by the time of their last report
--- @key    taken       string[ride:<ride>]      the driver who has the ride
--- @key    busy        string[busy:<driver>]    the ride that the driver has
--- @arg    ride        text[64]                 the ride
--- @arg    driver      text[64]                 who accepts
--- @arg    lasts       duration[1m..1d]         how long the ride takes at most
--- @result outcome     enum(accepted,taken,busy) taken: another driver has the ride. busy: this driver has another ride
--- @result driver      text[64]                 who has the ride, or is busy
--- @result again       bool                     whether the driver had accepted before
--- @refused outcome taken busy
local function accept(drivers, taken, busy, ride, driver, lasts_us)
  local owner = redis.call('GET', taken)
  if owner and owner ~= driver then
    return 'taken', owner, false
  end
  if owner then
    return 'accepted', driver, true
  end
  local other = redis.call('GET', busy)
  if other and other ~= ride then
    return 'busy', driver, false
  end
  clock.store_for(taken, driver, lasts_us)
  clock.store_for(busy, ride, lasts_us)
  redis.call('ZREM', drivers, driver)
  return 'accepted', driver, false
end
