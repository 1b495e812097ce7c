--- Adds and removes entries of a log that window_log reads.
--- @use clock window_log_search window_log_retention
--- @lib window_log_write
local window_log_write = {}

-- A call drops at most this many. Dropping a million would take as long as a hundred calls.
local max_dropped = 10000

-- Drops the oldest entries. The retention replaces the last one that is dropped.
local function trim(key, drop, text)
  drop = math.min(drop, max_dropped)
  redis.call('LSET', key, drop, text)
  if drop > 0 then
    redis.call('LTRIM', key, drop, '-1')
  end
end

-- Adds an entry for the call at clock_us, after dropping those that no caller needs; the other arguments are what window_log.check
-- returned.
function window_log_write.append(key, limit, window_us, clock_us, entry_us, retention, length, expired, oldest)
  if retention and limit <= retention.limit and window_us <= retention.window_us then
    local drop = expired
    if length - drop > retention.limit then
      drop = length - retention.limit
    end
    if drop == 1 then
      redis.call('LREM', key, '1', oldest)
    elseif drop > 0 then
      trim(key, drop, retention.text)
    end
    redis.call('RPUSH', key, clock.text(entry_us))
  elseif retention then
    retention = window_log_retention.of(math.max(limit, retention.limit), math.max(window_us, retention.window_us))
    trim(key, math.max(expired, length - retention.limit), retention.text)
    redis.call('RPUSH', key, clock.text(entry_us))
  else
    retention = window_log_retention.of(limit, window_us)
    redis.call('RPUSH', key, retention.text, clock.text(entry_us))
  end
  if entry_us == clock_us then
    clock.expire_after(key, retention.window_us)
  else
    clock.expire(key, retention.window_us + entry_us - clock_us)
  end
end

-- Removes one entry of that time, if it still exists. Most refunds follow their charge within moments.
function window_log_write.remove(key, entry_us)
  local newest_us = clock.parse_us(redis.call('LINDEX', key, '-1') or '')
  if not newest_us or newest_us < entry_us then
    return
  end
  local length = redis.call('LLEN', key) - 1
  local place, found_us = window_log_search.first_after(key, entry_us - 1, 1, length, newest_us, true)
  if found_us ~= entry_us then
    return
  end
  local retention = window_log_retention.parse(redis.call('LINDEX', key, '0') or '')
  local stands_for = retention and length > retention.limit and redis.call('LINDEX', key, '1')
  if stands_for and place == 1 then
    return
  end
  -- Search from the nearer end.
  local nearer = '1'
  if place > length / 2 then
    nearer = '-1'
  end
  redis.call('LREM', key, nearer, string.format('%.0f', entry_us))
  if stands_for then
    -- A dropped one may count again: it was no later than the oldest.
    redis.call('LINSERT', key, 'BEFORE', stands_for, stands_for)
  end
end

return window_log_write
