--- A log of admission times in a list, oldest first: exact in any window.
---
--- A list holds each time once, also when two are equal, in about 10 bytes.
--- @use clock refusal
--- @lib window_log
local window_log = {}

local unreadable = 'holds an entry that is not a time'

-- The first index in [low, high] whose time is later than horizon_us; the times ascend, and the last one is later.
-- It looks at 0, 1, 3, 7, ... first, as few entries expire between two calls, then halves the gap.
local function first_after(key, horizon_us, high)
  local low, step = 0, 1
  local probe = 0
  while low < high do
    local entry_us = clock.parse_us(redis.call('LINDEX', key, probe)) -- rlfunc:ignore key-loop halves the range, 40 steps at most
    if not entry_us then
      return nil
    end
    if entry_us > horizon_us then
      high = probe
      step = 0
    else
      low = probe + 1
    end
    if step > 0 then
      step = step * 2
      probe = math.min(low + step - 1, high - 1)
    else
      probe = math.floor((low + high) / 2)
    end
  end
  return low
end

-- Reads the log as the call at clock_us sees it: now_us is the later of the clock and the newest entry; expired entries
-- come before the first one inside the window; length 0 is an empty log. broken says that the newest entry is further
-- ahead than the window: a broken clock wrote it, and the log counts as empty.
function window_log.read(key, window_us, clock_us)
  local newest = redis.call('LINDEX', key, -1)
  if not newest then
    return {now_us = clock_us, newest_us = clock_us, length = 0, expired = 0, count = 0, broken = false}
  end
  local newest_us = clock.parse_us(newest)
  if not newest_us then
    return nil, refusal.state(key, unreadable)
  end
  if newest_us - clock_us > window_us then
    return {now_us = clock_us, newest_us = clock_us, length = 0, expired = 0, count = 0, broken = true}
  end
  local now_us = math.max(clock_us, newest_us)
  local length = redis.call('LLEN', key)
  local horizon_us = now_us - window_us
  local expired = length
  if newest_us > horizon_us then
    expired = first_after(key, horizon_us, length - 1)
    if not expired then
      return nil, refusal.state(key, unreadable)
    end
  end
  return {now_us = now_us, newest_us = newest_us, length = length, expired = expired, count = length - expired, broken = false}
end

-- Microseconds until fewer than limit entries are inside the window; 0 when that is so now.
function window_log.wait_us(key, log, limit, window_us, clock_us)
  if log.count < limit then
    return 0
  end
  local entry_us = clock.parse_us(redis.call('LINDEX', key, log.length - limit))
  if not entry_us then
    return nil, refusal.state(key, unreadable)
  end
  return entry_us + window_us - clock_us
end

return window_log
