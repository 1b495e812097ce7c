--- Adds and takes out entries of a log that window_log reads.
--- @use clock log_search window_need
--- @lib log_entry
local log_entry = {}

-- A call drops this many at most. To drop a million takes as long as a hundred calls.
local most_dropped = 10000

-- Drops the oldest entries. The need takes the place of the last one that goes.
local function trim(key, drop, text)
  drop = math.min(drop, most_dropped)
  redis.call('LSET', key, drop, text)
  if drop > 0 then
    redis.call('LTRIM', key, drop, '-1')
  end
end

-- Adds an entry of the call at clock_us, after those that no caller needs are gone; the rest is what window_log.read returned.
function log_entry.append(key, limit, window_us, clock_us, entry_us, need, length, expired, oldest)
  if need and limit <= need.limit and window_us <= need.window_us then
    local drop = expired
    if length - drop > need.limit then
      drop = length - need.limit
    end
    if drop == 1 then
      redis.call('LREM', key, '1', oldest)
    elseif drop > 0 then
      trim(key, drop, need.text)
    end
    redis.call('RPUSH', key, clock.text(entry_us))
  elseif need then
    need = window_need.of(math.max(limit, need.limit), math.max(window_us, need.window_us))
    trim(key, math.max(expired, length - need.limit), need.text)
    redis.call('RPUSH', key, clock.text(entry_us))
  else
    need = window_need.of(limit, window_us)
    redis.call('RPUSH', key, need.text, clock.text(entry_us))
  end
  if entry_us == clock_us then
    clock.expire_after(key, need.window_us)
  else
    clock.expire(key, need.window_us + entry_us - clock_us)
  end
end

-- Takes out one entry of that time, if it is there still. What is given back was mostly taken a moment ago.
function log_entry.remove(key, entry_us)
  local newest_us = clock.parse_us(redis.call('LINDEX', key, '-1') or '')
  if not newest_us or newest_us < entry_us then
    return
  end
  local length = redis.call('LLEN', key) - 1
  local place, found_us = log_search.first_after(key, entry_us - 1, 1, length, newest_us, true)
  if found_us ~= entry_us then
    return
  end
  local need = window_need.parse(redis.call('LINDEX', key, '0') or '')
  local stands_for = need and length > need.limit and redis.call('LINDEX', key, '1')
  if stands_for and place == 1 then
    return
  end
  -- From the end that is nearer.
  local nearer = '1'
  if place > length / 2 then
    nearer = '-1'
  end
  redis.call('LREM', key, nearer, string.format('%.0f', entry_us))
  if stands_for then
    -- One that was dropped may count again: it was no later than the oldest.
    redis.call('LINSERT', key, 'BEFORE', stands_for, stands_for)
  end
end

return log_entry
