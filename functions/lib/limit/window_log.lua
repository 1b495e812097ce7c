--- A sliding log as a kind of limit: the times of admissions in a list, oldest first. Exact in any window.
---
--- An entry takes about 11 bytes, and two of the same microsecond are two. If the clock is set back, an admission counts as made at the
--- time of the newest one.
--- @use clock refusal
--- @lib window_log
--- @state sliding_log 1 times of admissions in microseconds, oldest first
local window_log = {redis_type = 'list', needs_clock = true, weighted = false}

-- A call drops at most this many expired entries, so that no call takes long. It adds one, so the list shrinks nevertheless.
local most_dropped = 100

-- Returns the time at a place of the list; nil if it is no time.
local function time_at(key, place)
  return clock.parse_us(redis.call('LINDEX', key, place) or '')
end

-- Returns the place of the first entry later than horizon_us, and its time; nil if an entry is no time. The last entry is later. It goes
-- 1, 2, 4, ... places from the oldest, because few have expired since the last call, and then bisects.
local function first_after(key, horizon_us, length)
  local low, step = 0, 1
  local found_us = time_at(key, '0')
  local high = 0
  while found_us and found_us <= horizon_us do
    low = high + 1
    high = math.min(high + step, length - 1)
    step = step * 2
    found_us = time_at(key, high)
  end
  while found_us and low < high do
    local middle = math.floor((low + high) / 2)
    local middle_us = time_at(key, middle)
    if not middle_us then
      return nil
    elseif middle_us > horizon_us then
      high = middle
      found_us = middle_us
    else
      low = middle + 1
    end
  end
  return found_us and high, found_us
end

-- Fills an answer for a log of so many admissions, the newest of which keeps it from being empty until reset_after_us.
local function answer_of(row, answer, count, cost, reset_after_us)
  answer.count = count
  answer.remaining = count < row.limit and row.limit - count or 0
  answer.allowed = count + cost <= row.limit
  answer.reset_after_us = reset_after_us
  answer.retry_after_us = 0
end

function window_log.check(row, key, cost, now_us, answer)
  local length = redis.call('LLEN', key)
  local newest_us = length > 0 and time_at(key, '-1')
  local horizon_us = now_us - row.window_us
  answer.length = length
  answer.expired = length
  answer.entry_us = now_us
  if length == 0 or newest_us and (newest_us <= horizon_us or clock.is_wrong(newest_us - now_us, row.window_us)) then
    answer_of(row, answer, 0, cost, 0)
    return nil
  elseif newest_us and newest_us > now_us then
    answer.entry_us = newest_us
    horizon_us = newest_us - row.window_us
  end
  local expired, oldest_us = nil, nil
  if newest_us then
    expired, oldest_us = first_after(key, horizon_us, length)
  end
  local count, needed = length - (expired or 0), row.limit + 1 - cost -- the call fits when so many of the newest entries have one less
  if oldest_us and count > needed then
    oldest_us = time_at(key, -needed)
  end
  if not oldest_us then
    return refusal.state(key, 'holds an entry that is not a time')
  end
  answer.expired = expired
  answer_of(row, answer, count, cost, newest_us + row.window_us - now_us)
  if not answer.allowed then
    answer.retry_after_us = oldest_us + row.window_us - now_us
  end
end

function window_log.charge(row, key, _, now_us, answer)
  answer.count = answer.count + 1
  if answer.expired == answer.length and answer.length > 0 then
    redis.call('UNLINK', key)
  elseif answer.expired > 0 then
    redis.call('LTRIM', key, math.min(answer.expired, most_dropped), '-1')
  end
  redis.call('RPUSH', key, clock.text(answer.entry_us))
  answer.reset_after_us = answer.entry_us + row.window_us - now_us
  if answer.entry_us == now_us then
    clock.expire_after(key, row.window_us)
  else
    clock.expire(key, answer.reset_after_us)
  end
end

-- Removes the entry of the call whose charge counts until until_us, or else the newest one.
function window_log.refund(row, key, _, _, until_us)
  if not until_us then
    return redis.call('RPOP', key) ~= false
  end
  local entry_us, newest_us = until_us - row.window_us, time_at(key, '-1')
  if not newest_us or newest_us < entry_us then
    return false
  end
  -- LREM alone would read all of a log that lacks the entry.
  local _, found_us = first_after(key, entry_us - 1, redis.call('LLEN', key))
  return found_us == entry_us and redis.call('LREM', key, '-1', string.format('%d', entry_us)) > 0
end

return window_log
