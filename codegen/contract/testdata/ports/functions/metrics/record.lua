--- Counts a job, and closes the minutes that have passed since the last one.
---
--- Each point but the newest is a minute's jobs. Nothing is left of a queue that has counted nothing for twice the time of its points.
--- @use clock
--- @key    meta   hash[meta]             'count' of all jobs, 'prevCount' and 'prevTS' of the last closed minute
--- @key    points list[points]           jobs of each minute, the newest first
--- @arg    most   count[1..10080]=1440   most points that are kept
--- @result closed count[0..10080]        minutes that this call has closed
local function record(meta, points, most)
  local now_us = clock.now_us()
  local before = redis.call('HMGET', meta, 'prevCount', 'prevTS')
  local previous, since_us = tonumber(before[1]), tonumber(before[2])
  local count = redis.call('HINCRBY', meta, 'count', 1) - 1
  clock.extend(meta, most * 2 * 60000000)
  if not previous or not since_us then
    redis.call('HSET', meta, 'prevCount', 0, 'prevTS', clock.text(now_us))
    return 0
  end
  local minutes = math.min(math.floor((now_us - since_us) / 60000000), most)
  if minutes <= 0 then
    return 0
  end
  redis.call('LPUSH', points, count - previous)
  for _ = 2, minutes do
    redis.call('LPUSH', points, 0)
  end
  redis.call('LTRIM', points, 0, most - 1)
  clock.extend(points, most * 2 * 60000000)
  redis.call('HSET', meta, 'prevCount', count, 'prevTS', clock.text(now_us))
  return minutes
end
