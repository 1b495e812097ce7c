--- Lists free drivers, those who reported last first, without those who declined too often; writes nothing.
--- @use clock
--- @flags  no-writes
--- @subject the city
--- @key    drivers          zset[drivers]             free drivers by the time of their last report
--- @key    declined         zset[declined]            drivers by how often they declined
--- @arg    within           duration[1s..10m]=1m      how long ago the last report may be
--- @arg    declines         count[0..1000]=5          how often a driver may have declined
--- @arg    most             count[1..50]=10           most drivers to look at
--- @result drivers          group[0..50]              the drivers
--- @result drivers.driver   text[64]                  the driver
--- @result drivers.ago      duration                  how long ago the report was
local function idle(drivers, declined, within_us, declines, most)
  local now_us = clock.now_us()
  local since = string.format('%.0f', now_us - within_us)
  redis.call('ZREMRANGEBYSCORE', drivers, '-inf', string.format('(%.0f', now_us - 600000000))
  local found = redis.call('ZREVRANGEBYSCORE', drivers, '+inf', since, 'WITHSCORES', 'LIMIT', 0, most)
  local rows = {}
  for i = 1, #found, 2 do
    local times = tonumber(redis.call('ZSCORE', declined, found[i])) or 0
    if times <= declines then
      local at_us = tonumber(found[i + 1]) or now_us
      rows[#rows + 1] = {driver = found[i], ago_us = math.max(now_us - at_us, 0)}
    end
  end
  return rows
end
