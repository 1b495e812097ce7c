--- The server's clock: the only file that reads time, and the only one that sets an expiry.
---
--- Times are whole microseconds since 1970. Tests swap this file for one whose clock they move.
--- @lib clock
local clock = {}

-- The clock, read once a call.
function clock.now_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- A stored time, or nil when the text is none: NaN, an infinity, a fraction or a negative number is not.
function clock.parse_us(text)
  local time_us = tonumber(text)
  if time_us and time_us >= 0 and time_us <= 9007199254740992 and time_us % 1 == 0 then
    return time_us
  end
  return nil
end

-- Milliseconds that a key has left: -2 without the key, -1 without an expiry.
function clock.left_ms(key)
  return redis.call('PTTL', key)
end

-- Stores a value that expires. A whole number of milliseconds, at least 1.
function clock.store(key, value, ttl_ms)
  redis.call('SET', key, value, 'PX', ttl_ms)
end

-- Lets a key expire, rounded up to a millisecond: an expiry of 0 would delete it.
function clock.expire(key, ttl_us)
  redis.call('PEXPIRE', key, math.ceil(ttl_us / 1000))
end

return clock
