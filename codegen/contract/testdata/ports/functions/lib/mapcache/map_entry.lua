--- Entries of a map cache.
--- @use clock
--- @lib map_entry
--- @state map_entry 1 the idle time in microseconds as a double, the length of the value, and the value
local map_entry = {}

-- Packs a value.
function map_entry.pack(idle_us, value)
  return struct.pack('dLc0', idle_us, #value, value)
end

-- Returns the value and the idle time of an entry, nil if there is none or its time is over, and an error if it cannot be read.
function map_entry.read(entries, timeouts, idles, name, now_us)
  local packed = redis.call('HGET', entries, name)
  if not packed then
    return nil, 0
  end
  local ok, idle_us, value = pcall(struct.unpack, 'dLc0', packed)
  if not ok or not clock.parse_us(idle_us) then
    local key = string.gsub(string.sub(entries, 1, 200), '[^\32-\126]', '?')
    return nil, 0, {err = 'RLSTATE ' .. key .. ': an entry is not one that put has written'}
  end
  local ends_us = clock.parse_us(redis.call('ZSCORE', timeouts, name))
  if ends_us and ends_us <= now_us then
    return nil, 0
  end
  local idle_ends_us = clock.parse_us(redis.call('ZSCORE', idles, name))
  if idle_us ~= 0 and idle_ends_us and idle_ends_us <= now_us then
    return nil, 0
  end
  return value, idle_us
end

return map_entry
