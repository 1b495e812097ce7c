--- The clock of tests on real servers: it stands in for lib/clock.lua, and its time moves only when the test says so.
---
--- The time is a library-level local, so it is the node's own and never replicated. An expiry is stored a hundred years
--- late: the real time then expires nothing while a test runs. Keys that have expired by the test's time are deleted when
--- the clock is moved, so a function never meets a key that it would not meet in production.
---
--- This breaks rules of vet on purpose (state of the library, KEYS, keys that no call declares) and never ships.
--- @lib clock
local clock = {}

local test_us = 0
local late_ms = 3153600000000

local function now_ms()
  return math.floor(test_us / 1000)
end

function clock.now_us()
  return test_us
end

function clock.text(time_us)
  return string.format('%.0f', time_us)
end

function clock.span_ms(span_us)
  return string.format('%.0f', math.ceil(span_us / 1000))
end

function clock.parse_us(text)
  local time_us = tonumber(text)
  if time_us and time_us >= 0 and time_us <= 9007199254740992 and time_us % 1 == 0 then
    return time_us
  end
  return nil
end

function clock.is_wrong(ahead_us, window_us)
  return ahead_us > window_us
end

function clock.left_ms(key)
  local end_ms = redis.call('PEXPIRETIME', key)
  if end_ms < 0 then
    return end_ms
  end
  return end_ms - late_ms - now_ms()
end

function clock.store(key, value, ttl_ms)
  redis.call('SET', key, value, 'PXAT', now_ms() + ttl_ms + late_ms)
end

function clock.store_until(key, value, end_ms)
  redis.call('SET', key, value, 'PXAT', end_ms + late_ms)
end

function clock.expire(key, ttl_us)
  redis.call('PEXPIREAT', key, now_ms() + math.ceil(ttl_us / 1000) + late_ms)
end

function clock.expire_at(key, end_us)
  redis.call('PEXPIREAT', key, math.ceil(end_us / 1000) + late_ms)
end

function clock.extend(key, ttl_us)
  local end_ms = now_ms() + math.ceil(ttl_us / 1000) + late_ms
  return redis.call('PEXPIREAT', key, end_ms, 'GT') == 1 or redis.call('PEXPIREAT', key, end_ms, 'NX') == 1
end

function clock.store_for(key, value, span_us)
  clock.store(key, value, math.ceil(span_us / 1000))
end

function clock.extend_until(key, end_us)
  local end_ms = math.ceil(end_us / 1000) + late_ms
  if redis.call('PEXPIREAT', key, end_ms, 'NX') == 0 then
    redis.call('PEXPIREAT', key, end_ms, 'GT')
  end
end

function clock.expire_after(key, span_us)
  clock.expire(key, span_us)
end

-- A key is there in the millisecond in which it expires, and gone in the next one: so does Redis.
local function set_clock(_, args)
  test_us = tonumber(args[1])
  local keys = redis.call('KEYS', '*')
  for i = 1, #keys do
    local end_ms = redis.call('PEXPIRETIME', keys[i])
    if end_ms >= 0 and end_ms - late_ms < now_ms() then
      redis.call('DEL', keys[i])
    end
  end
  return #keys
end

redis.register_function('LIBRARY_set_clock', set_clock)

return clock
