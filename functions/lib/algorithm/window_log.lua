--- A log of admission times in a list, oldest first: exact for any window, even if callers' windows differ.
---
--- A list holds every time, even two equal ones, in about 10 bytes each. The first element is the retention: the longest window
--- and the highest limit of the callers since the key was created. Admissions are kept for that window, and at most one more than
--- that limit, because no caller counts more. With one more, the oldest also stands for those that were dropped, so a refund
--- leaves it twice.
--- @use clock window_log_search refusal window_log_retention
--- @lib window_log
--- @state window_log 1 '<longest window in microseconds> <highest limit>' of the callers, then admission times in microseconds, oldest first
local window_log = {}

local unreadable = 'holds an entry that is not a time'

-- Returns when the next entry fits, if limit or more of the count are in the window: when the limit-th newest leaves it.
local function room_us(key, limit, window_us, count, oldest_us)
  if count == limit then
    return oldest_us + window_us
  end
  local entry_us = clock.parse_us(redis.call('LINDEX', key, -limit))
  if not entry_us or entry_us < oldest_us then
    return nil, refusal.state(key, unreadable)
  end
  return entry_us + window_us
end

-- Checks a call of cost 0 or 1. Returns allowed, what is left without it, the time until the window is empty, the wait until cost is
-- allowed, and the number of entries in the window; then what append needs: now_us, the later of the clock and the newest entry,
-- the retention, nil without a log, the number of entries, how many of them no caller needs, and the oldest as text. Or nil and a
-- refusal. If the newest entry is further ahead than the longest window, a wrong clock wrote it, and no entry is needed.
function window_log.check(key, limit, window_us, cost, clock_us)
  local newest = redis.call('LINDEX', key, '-1')
  if not newest then
    return true, limit, 0, 0, 0, clock_us, nil, 0, 0, ''
  end
  local retention = window_log_retention.parse(redis.call('LINDEX', key, '0') or '')
  local length = redis.call('LLEN', key) - 1
  if retention and length == 0 then
    return true, limit, 0, 0, 0, clock_us, retention, 0, 0, ''
  end
  local oldest = newest
  if length > 1 then
    oldest = redis.call('LINDEX', key, '1') or ''
  end
  -- The code of parse_us is inlined: calling it takes 3 % more instructions.
  local newest_us, oldest_us = tonumber(newest), tonumber(oldest)
  if not (retention and newest_us and newest_us >= 0 and newest_us <= 9007199254740992 and newest_us % 1 == 0) then
    return nil, refusal.state(key, unreadable)
  end
  if not (oldest_us and oldest_us >= 0 and oldest_us <= newest_us and oldest_us % 1 == 0) then
    return nil, refusal.state(key, unreadable)
  end
  local keep_us, now_us = retention.window_us, clock_us
  if window_us > keep_us then
    keep_us = window_us
  end
  if newest_us > clock_us then
    if newest_us - clock_us > keep_us then
      return true, limit, 0, 0, 0, clock_us, retention, length, length, oldest
    end
    now_us = newest_us
  end

  local place, inside_us = 1, oldest_us
  if oldest_us <= now_us - keep_us then
    if newest_us <= now_us - keep_us then
      return true, limit, 0, 0, 0, now_us, retention, length, length, oldest
    end
    place, inside_us = window_log_search.first_after(key, now_us - keep_us, 2, length, newest_us, false)
    if not place then
      return nil, refusal.state(key, unreadable)
    end
  end
  local expired = place - 1
  if inside_us <= now_us - window_us then
    if newest_us <= now_us - window_us then
      return true, limit, 0, 0, 0, now_us, retention, length, expired, oldest
    end
    place, inside_us = window_log_search.first_after(key, now_us - window_us, place + 1, length, newest_us, true)
    if not place then
      return nil, refusal.state(key, unreadable)
    end
  end
  local count, reset_us = length + 1 - place, newest_us + window_us - clock_us
  if count + cost <= limit then
    return true, limit - count, reset_us, 0, count, now_us, retention, length, expired, oldest
  end
  local free_us, failure = room_us(key, limit + 1 - cost, window_us, count, inside_us)
  if not free_us then
    return nil, failure
  end
  return false, math.max(limit - count, 0), reset_us, free_us - clock_us, count, now_us
end

return window_log
