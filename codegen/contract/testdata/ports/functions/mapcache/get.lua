--- Reads a value, which keeps an entry that ends when it is not read.
--- @use clock map_entry
--- @key    entries  hash[map] forever       packed values by name
--- @key    timeouts zset[timeouts] forever  names of entries that end, with the time of it
--- @key    idles    zset[idles] forever     names of entries that end when they are not read, with the time of it
--- @arg    name     text[64]                the entry
--- @result found    bool                    whether it is there
--- @result value    bytes[4096]?            its value
--- @error  RLSTATE                          the entry cannot be read
local function get(entries, timeouts, idles, name)
  local now_us = clock.now_us()
  local value, idle_us, unreadable = map_entry.read(entries, timeouts, idles, name, now_us)
  if unreadable then
    return nil, unreadable
  end
  if not value then
    return false, nil
  end
  if idle_us ~= 0 then
    redis.call('ZADD', idles, now_us + idle_us, name)
  end
  return true, value
end
