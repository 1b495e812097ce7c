--- A log of admission times in a list, oldest first: exact in any window, also of callers whose windows differ.
---
--- A list holds each time once, also when two are equal, in about 10 bytes. Before the times stands what the callers need that
--- were admitted since the key is there: an admission is kept for the longest of their windows, and one more than the highest of
--- their limits are, as no caller's newest `limit` are among older ones. With one more, the oldest stands for what was dropped: a
--- refund then leaves it twice. The need lives as long as the key.
--- @use clock log_search refusal window_need
--- @lib window_log
--- @state window_log 1 '<longest window in microseconds> <highest limit>' of the callers, then admission times in microseconds, oldest first
local window_log = {}

local unreadable = 'holds an entry that is not a time'

-- Reads the log as the call at clock_us sees it. Returns now_us, the later of the clock and the newest entry; how many
-- entries are inside the window; the times of the newest and of the oldest inside, which mean nothing when none is; and what
-- append needs: the need, nil without a log, how many entries there are, how many of them no caller needs, and the text of the
-- oldest. Or nil and a refusal.
-- A newest entry that is further ahead than the longest window is from a wrong clock: then no caller needs any.
function window_log.read(key, window_us, clock_us)
  local newest = redis.call('LINDEX', key, '-1')
  if not newest then
    return clock_us, 0, clock_us, clock_us, nil, 0, 0, ''
  end
  local need = window_need.parse(redis.call('LINDEX', key, '0') or '')
  local length = redis.call('LLEN', key) - 1
  if need and length == 0 then
    return clock_us, 0, clock_us, clock_us, need, 0, 0, ''
  end
  local oldest = newest
  if length > 1 then
    oldest = redis.call('LINDEX', key, '1') or ''
  end
  -- What parse_us does is written out: calling a function costs as much as ten operations.
  local newest_us, oldest_us = tonumber(newest), tonumber(oldest)
  if not (need and newest_us and newest_us >= 0 and newest_us <= 9007199254740992 and newest_us % 1 == 0) then
    return nil, refusal.state(key, unreadable)
  end
  if not (oldest_us and oldest_us >= 0 and oldest_us <= 9007199254740992 and oldest_us % 1 == 0) then
    return nil, refusal.state(key, unreadable)
  end
  local keep_us, now_us = need.window_us, clock_us
  if window_us > keep_us then
    keep_us = window_us
  end
  if newest_us > clock_us then
    if newest_us - clock_us > keep_us then
      return clock_us, 0, clock_us, clock_us, need, length, length, oldest
    end
    now_us = newest_us
  end

  local place, inside_us = 1, oldest_us
  if oldest_us <= now_us - keep_us then
    if newest_us <= now_us - keep_us then
      return now_us, 0, newest_us, newest_us, need, length, length, oldest
    end
    place, inside_us = log_search.first_after(key, now_us - keep_us, 2, length, newest_us, false)
    if not place then
      return nil, refusal.state(key, unreadable)
    end
  end
  local expired = place - 1
  if inside_us <= now_us - window_us then
    if newest_us <= now_us - window_us then
      return now_us, 0, newest_us, newest_us, need, length, expired, oldest
    end
    place, inside_us = log_search.first_after(key, now_us - window_us, place + 1, length, newest_us, true)
    if not place then
      return nil, refusal.state(key, unreadable)
    end
  end
  return now_us, length + 1 - place, newest_us, inside_us, need, length, expired, oldest
end

-- When the next entry may come, if limit or more of the count are inside the window: when the limit-th newest leaves it.
function window_log.room_us(key, limit, window_us, count, oldest_us)
  if count == limit then
    return oldest_us + window_us
  end
  local entry_us = clock.parse_us(redis.call('LINDEX', key, -limit))
  if not entry_us then
    return nil, refusal.state(key, unreadable)
  end
  return entry_us + window_us
end

return window_log
