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

local function unreadable(key)
  return refusal.state(key, 'holds no time of a token bucket')
end

-- Returns the capacity in a value that token_bucket_value wrote.
local function capacity_beside_time(value)
  return tonumber(string.match(value, '^%d+ (%d+) %d+/%d+$'))
end

-- Returns whether a number is a valid capacity; NaN and infinity are not.
function token_bucket_ttl.is_capacity(number)
  return number >= 1 and number <= longest_ms and number % 1 == 0
end

-- Returns the capacity in a value of this file, 0 for any other value.
local function capacity_in(value)
  local stored_ms = tonumber(value)
  if stored_ms and token_bucket_ttl.is_capacity(stored_ms) then
    return stored_ms
  end
  return 0
end

-- Returns the milliseconds until the bucket is full, and the capacity of the call that wrote it; or nil and a refusal.
function token_bucket_ttl.read(key, value)
  local left_ms = clock.left_ms(key)
  local stored_ms = tonumber(value) or capacity_beside_time(value)
  if left_ms == -1 or not stored_ms or not token_bucket_ttl.is_capacity(stored_ms) then
    return nil, unreadable(key)
  end
  return left_ms, stored_ms
end

-- Returns what token_bucket.check returns, for a bucket that gains a token each interval_ms and fills in capacity_ms. own is
-- capacity_ms as text, if known; left_ms is the key's remaining time, read if nil. The code of read is inlined, because a
-- function call costs as much as ten operations.
function token_bucket_ttl.check(key, interval_ms, capacity_ms, cost, own, left_ms)
  local level_ms, kept_ms, stored_ms = 0, 0, 0
  local value = redis.call('GET', key)
  if value then
    left_ms = left_ms or clock.left_ms(key)
    local by_expiry_ms = capacity_ms
    stored_ms = capacity_ms
    if value ~= own then
      by_expiry_ms = tonumber(value)
      stored_ms = by_expiry_ms or capacity_beside_time(value)
    end
    if left_ms == -1 or not (stored_ms and stored_ms >= 1 and stored_ms <= longest_ms and stored_ms % 1 == 0) then
      return nil, unreadable(key)
    end
    -- The bucket was at most empty. If it takes longer to fill, the clock was set back; if twice as long, a wrong clock wrote it,
    -- and the bucket starts full.
    if left_ms >= 0 and left_ms <= 2 * stored_ms then
      level_ms = left_ms
      kept_ms = by_expiry_ms or 0
    end
  end
  local next_ms = level_ms + interval_ms * cost
  local refused = next_ms > capacity_ms and cost >= 0
  local room_ms = capacity_ms - next_ms
  if refused then
    room_ms = capacity_ms - level_ms
  end
  if room_ms < 0 then
    room_ms = 0
  end
  local left = (room_ms - room_ms % interval_ms) / interval_ms
  if refused then
    return false, left, (next_ms - capacity_ms) * 1000, level_ms * 1000
  end
  local to_store_ms
  if kept_ms < next_ms then
    to_store_ms = capacity_ms
    if next_ms > capacity_ms then
      to_store_ms = stored_ms
    end
  end
  return true, left, 0, level_ms * 1000, next_ms * 1000, to_store_ms
end

-- Checks a call that costs something, and stores the result if it is allowed. Most calls take two commands: if the level has
-- room, one command moves the expiry and reads the value, and a second one moves it back if the value does not allow that. A
-- value equal to own needs no parsing. Rare cases go to check. Returns allowed, the tokens left after the call, the time until
-- the bucket is full, and the wait until cost is allowed; or nil and a refusal. own is the capacity as text.
function token_bucket_ttl.take(key, interval_ms, capacity_ms, cost, own)
  local next_ms = interval_ms * cost
  local left_ms = clock.left_ms(key)
  if left_ms == -2 then
    local room_ms = capacity_ms - next_ms
    if cost == 1 then
      clock.store_for(key, own, next_ms * 1000)
    else
      clock.store(key, own, next_ms)
    end
    return true, (room_ms - room_ms % interval_ms) / interval_ms, next_ms * 1000, 0
  end
  next_ms = next_ms + left_ms
  local room_ms = capacity_ms - next_ms
  if left_ms > 0 and room_ms >= 0 then
    local value = clock.read_until(key, next_ms)
    if value == own or capacity_in(value) >= next_ms then
      return true, (room_ms - room_ms % interval_ms) / interval_ms, next_ms * 1000, 0
    end
    clock.expire(key, left_ms * 1000)
  elseif left_ms > 0 then
    local stored_ms, value = capacity_ms, redis.call('GET', key)
    if value ~= own then
      stored_ms = capacity_in(value)
    end
    if 2 * stored_ms >= left_ms then
      local free_ms = 0
      if capacity_ms > left_ms then
        free_ms = capacity_ms - left_ms
      end
      return false, (free_ms - free_ms % interval_ms) / interval_ms, left_ms * 1000, -room_ms * 1000
    end
  end
  local allowed, left, wait_us, full_us, next_full_us, value = token_bucket_ttl.check(key, interval_ms, capacity_ms, cost, own, left_ms)
  if allowed == nil then
    return nil, left
  end
  if not allowed then
    return false, left, full_us, wait_us
  end
  if value then
    clock.store(key, value, math.ceil(next_full_us / 1000))
  else
    clock.expire(key, next_full_us)
  end
  return true, left, next_full_us, 0
end

return token_bucket_ttl
