--- Removes entries whose time is over, at most 200.
--- @use clock
--- @key    entries  hash[map] forever       packed values by name
--- @key    timeouts zset[timeouts] forever  names of entries that end, with the time of it
--- @key    idles    zset[idles] forever     names of entries that end when they are not read, with the time of it
--- @result removed  count[0..200]           entries that are gone; call again if they are many
local function evict(entries, timeouts, idles)
  local now_us = clock.now_us()
  local removed = 0
  local over = redis.call('ZRANGEBYSCORE', timeouts, 0, now_us, 'LIMIT', 0, 100)
  if #over > 0 then
    redis.call('ZREM', timeouts, unpack(over))
    redis.call('ZREM', idles, unpack(over))
    removed = redis.call('HDEL', entries, unpack(over))
  end
  local idle = redis.call('ZRANGEBYSCORE', idles, 0, now_us, 'LIMIT', 0, 100)
  if #idle > 0 then
    redis.call('ZREM', timeouts, unpack(idle))
    redis.call('ZREM', idles, unpack(idle))
    removed = removed + redis.call('HDEL', entries, unpack(idle))
  end
  return removed
end
