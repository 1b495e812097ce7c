--- A log of admission times in a list, oldest first: exact in any window.
---
--- A list holds each time once, also when two are equal, in about 10 bytes.
--- @use clock refusal
--- @lib window_log
--- @state window_log 1 admission times in microseconds, oldest first
local window_log = {}

local unreadable = 'holds an entry that is not a time'

-- The first index in [1, high] whose time is later than horizon_us, and that time; the times ascend, the first one is not
-- later, and the last one, high_us, is. It looks at 1, 3, 7, ... first, as few entries expire between two calls, then
-- halves the gap.
local function first_after(key, horizon_us, high, high_us)
  local low, probe, galloping = 1, 1, true
  while low < high do
    local entry_us = clock.parse_us(redis.call('LINDEX', key, probe)) -- rlfunc:ignore key-loop halves the range, 40 steps at most
    if not entry_us then
      return nil
    end
    if entry_us > horizon_us then
      high = probe
      high_us = entry_us
      galloping = false
    else
      low = probe + 1
    end
    if galloping then
      probe = math.min(low + probe, high - 1)
    elseif low < high then
      probe = math.floor((low + high) / 2)
    end
  end
  return low, high_us
end

-- Reads the log as the call at clock_us sees it. Returns now_us, the later of the clock and the newest entry; how many
-- entries are inside the window; how many have left it and are in the list still; and the times of the newest and of the
-- oldest inside, which mean nothing when none is. Or nil and a refusal.
-- A newest entry that is further ahead than the window is a broken clock's: then all have left it.
function window_log.read(key, window_us, clock_us)
  local newest = redis.call('LINDEX', key, '-1')
  if not newest then
    return clock_us, 0, 0, clock_us, clock_us
  end
  -- What parse_us does is written out: calling a function costs as much as ten operations.
  local newest_us = tonumber(newest)
  if not (newest_us and newest_us >= 0 and newest_us <= 9007199254740992 and newest_us % 1 == 0) then
    return nil, refusal.state(key, unreadable)
  end
  local length = redis.call('LLEN', key)
  local now_us = clock_us
  if newest_us > clock_us then
    now_us = newest_us
    if newest_us - clock_us > window_us then
      return clock_us, 0, length, clock_us, clock_us
    end
  end
  local horizon_us = now_us - window_us
  if newest_us <= horizon_us then
    return now_us, 0, length, newest_us, newest_us
  end
  if length == 1 then
    return now_us, 1, 0, newest_us, newest_us
  end
  local oldest_us = tonumber(redis.call('LINDEX', key, '0'))
  if not (oldest_us and oldest_us >= 0 and oldest_us <= 9007199254740992 and oldest_us % 1 == 0) then
    return nil, refusal.state(key, unreadable)
  end
  if oldest_us > horizon_us then
    return now_us, length, 0, newest_us, oldest_us
  end
  local expired, next_us = first_after(key, horizon_us, length - 1, newest_us)
  if not expired then
    return nil, refusal.state(key, unreadable)
  end
  return now_us, length - expired, expired, newest_us, next_us
end

-- When the next entry may come, if limit or more of the count are inside the window: when the limit-th newest leaves it.
function window_log.room_us(key, limit, window_us, count, expired, oldest_us)
  if count == limit then
    return oldest_us + window_us
  end
  local entry_us = clock.parse_us(redis.call('LINDEX', key, expired + count - limit))
  if not entry_us then
    return nil, refusal.state(key, unreadable)
  end
  return entry_us + window_us
end

-- Adds an entry of the call at clock_us, after those that have left the window are gone.
function window_log.append(key, entry_us, expired, window_us, clock_us)
  if expired == 1 then
    redis.call('LPOP', key)
  elseif expired > 0 then
    redis.call('LTRIM', key, expired, '-1')
  end
  redis.call('RPUSH', key, clock.text(entry_us))
  if entry_us == clock_us then
    clock.expire_after(key, window_us)
  else
    clock.expire(key, window_us + entry_us - clock_us)
  end
end

-- Takes out one entry of that time. From the newest on: what is given back was mostly taken a moment ago. One that has left
-- the window may be gone.
function window_log.remove(key, entry_us)
  redis.call('LREM', key, '-1', string.format('%.0f', entry_us))
end

return window_log
