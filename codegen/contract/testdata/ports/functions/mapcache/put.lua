--- Stores a value, and returns the one before.
--- @use clock map_entry
--- @key    entries  hash[map] forever        packed values by name
--- @key    timeouts zset[timeouts] forever   names of entries that end, with the time of it
--- @key    idles    zset[idles] forever      names of entries that end when they are not read, with the time of it
--- @arg    name     text[64]                 the entry
--- @arg    value    bytes[4096]              its value
--- @arg    ttl      duration[0us..365d]=0s   how long it is kept; 0: for good
--- @arg    idle     duration[0us..365d]=0s   how long it is kept without being read; 0: for good
--- @arg    absent   bool?                    whether to store it only if there is none
--- @result stored   bool                     false: there is a value, and absent was asked for
--- @result before   bytes[4096]?             the value before
--- @error  RLSTATE                           the entry that is there cannot be read
--- @refused stored
local function put(entries, timeouts, idles, name, value, ttl_us, idle_us, absent)
  local now_us = clock.now_us()
  local before, _, unreadable = map_entry.read(entries, timeouts, idles, name, now_us)
  if unreadable then
    return nil, unreadable
  end
  if before and absent then
    return false, before
  end
  if ttl_us > 0 then
    redis.call('ZADD', timeouts, clock.text(now_us + ttl_us), name)
  else
    redis.call('ZREM', timeouts, name)
  end
  if idle_us > 0 then
    redis.call('ZADD', idles, clock.text(now_us + idle_us), name)
  else
    redis.call('ZREM', idles, name)
  end
  redis.call('HSET', entries, name, map_entry.pack(idle_us, value))
  return true, before
end
