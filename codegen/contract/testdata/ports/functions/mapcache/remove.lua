--- Removes entries, and counts those that were there.
--- @key    entries  hash[map] forever            packed values by name
--- @key    timeouts zset[timeouts] forever       names of entries that end, with the time of it
--- @key    idles    zset[idles] forever          names of entries that end when they are not read, with the time of it
--- @arg    names    list[1..100] of text[64]     the entries
--- @result removed  count[0..100]                entries that were there
local function remove(entries, timeouts, idles, names)
  redis.call('ZREM', idles, unpack(names))
  redis.call('ZREM', timeouts, unpack(names))
  return redis.call('HDEL', entries, unpack(names))
end
