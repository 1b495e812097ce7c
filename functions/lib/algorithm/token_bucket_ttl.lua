--- A token bucket in its key's expiry, for emission intervals of whole milliseconds: it reads no clock.
---
--- The key expires when the bucket is full. Its value is the capacity of the writing call in milliseconds, which is at least the
--- level. Callers with other limits may share the bucket. Only a level above twice the capacity is from a wrong clock.
--- @use clock refusal
--- @lib token_bucket_ttl
--- @state token_bucket_ttl 1 capacity of the writing call, in milliseconds: '60000'; the key expires when the bucket is full
local token_bucket_ttl = {}

-- 100 years, and one millisecond for rounding up.
local longest_ms = 3153600000001

-- Returns whether a number is a valid capacity; NaN and infinity are not.
function token_bucket_ttl.is_capacity(number)
  return number >= 1 and number <= longest_ms and number % 1 == 0
end

-- Returns the capacity in a value of this file, 0 for any other value.
function token_bucket_ttl.capacity_in(value)
  local stored_ms = tonumber(value)
  if stored_ms and token_bucket_ttl.is_capacity(stored_ms) then
    return stored_ms
  end
  return 0
end

-- Returns the milliseconds until the bucket is full, the capacity of the call that wrote it, and whether token_bucket_value did; or
-- nil and a refusal.
function token_bucket_ttl.read(key, value)
  local left_ms, stored_ms, has_time = clock.left_ms(key), tonumber(value), false
  if not stored_ms then
    stored_ms = tonumber(string.match(value, '^%d+ (%d+) %d+/%d+$'))
    has_time = true
  end
  if left_ms == -1 or not stored_ms or not token_bucket_ttl.is_capacity(stored_ms) then
    return nil, refusal.state(key, 'holds no time of a token bucket')
  end
  return left_ms, stored_ms, has_time
end

-- Returns what token_bucket.check returns, for a bucket that gains a token each interval_ms and fills in capacity_ms.
function token_bucket_ttl.check(key, interval_ms, capacity_ms, cost)
  local level_ms, kept_ms, stored_ms = 0, 0, 0
  local value = redis.call('GET', key)
  if value then
    local ahead_ms, written_ms, has_time = token_bucket_ttl.read(key, value)
    if not ahead_ms then
      return nil, written_ms
    end
    stored_ms = written_ms
    -- The bucket was at most empty. If it takes longer to fill, the clock was set back; if twice as long, a wrong clock wrote it,
    -- and the bucket starts full.
    if ahead_ms >= 0 and ahead_ms <= 2 * stored_ms then
      level_ms = ahead_ms
      kept_ms = has_time and 0 or stored_ms
    end
  end
  local next_ms = level_ms + interval_ms * cost
  local room_ms = capacity_ms - (cost < 0 and next_ms or level_ms)
  if room_ms < 0 then
    room_ms = 0
  end
  local left = (room_ms - room_ms % interval_ms) / interval_ms
  if next_ms > capacity_ms and cost >= 0 then
    return false, left, level_ms * 1000, (next_ms - capacity_ms) * 1000
  end
  local to_store_ms
  if kept_ms < next_ms then
    to_store_ms = next_ms > capacity_ms and stored_ms or capacity_ms
  end
  return true, left, level_ms * 1000, 0, next_ms * 1000, to_store_ms
end

return token_bucket_ttl
