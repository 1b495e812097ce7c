--- A token bucket, by the generic cell rate algorithm (ITU-T I.371): exact over the long run.
---
--- The tat (theoretical arrival time) is when the bucket will be full. Taking a token moves it one emission interval ahead; the
--- level is the time from now to the tat. If the interval is whole milliseconds, the key's expiry is the tat; otherwise the key's
--- value is.
--- @use clock token_bucket_ttl token_bucket_value
--- @lib token_bucket
local token_bucket = {}

-- The longest time in which a bucket may fill, 100 years: added to any clock it stays an exact number.
local longest_ms = 3153600000000

-- Returns the milliseconds in which a bucket gains a token if its key's expiry can be the tat; otherwise nil, and the bucket needs
-- the clock.
function token_bucket.interval_ms(limit, period_us, burst)
  local interval_ms = period_us / (limit * 1000)
  if interval_ms % 1 == 0 and burst * interval_ms <= longest_ms then
    return interval_ms
  end
  return nil
end

-- Checks a call of that cost; a negative one is a refund. Returns allowed, the tokens there are without the call, but after a
-- refund, the time until the bucket is full without the call, and the wait until cost is allowed. If allowed, it also returns that
-- time after the call, and the value to store, nil if the key already has it. Or nil and a refusal. interval_ms is that of the
-- function above. Reads the clock if the bucket needs it and clock_us is nil.
function token_bucket.check(key, interval_ms, limit, period_us, burst, cost, clock_us)
  if interval_ms then
    return token_bucket_ttl.check(key, interval_ms, burst * interval_ms, cost)
  end
  return token_bucket_value.check(key, limit, period_us, burst, cost, clock_us or clock.now_us())
end

-- Takes cost if it is allowed. Returns allowed, the tokens left after the call, the time until the bucket is full, and the wait
-- until cost is allowed; or nil and a refusal.
--
-- Most calls of buckets by expiry take two commands, and do not come to check, with which gcra takes 19 % more instructions if it
-- refuses. If the level has room, one command moves the expiry and reads the value, and a second one moves it back if the value
-- does not allow that. A value equal to the capacity needs no parsing; own is that text, if known.
function token_bucket.take(key, interval_ms, limit, period_us, burst, cost, clock_us, own)
  if interval_ms and cost > 0 then
    local capacity_ms, next_ms = burst * interval_ms, cost * interval_ms
    local level_ms = clock.left_ms(key)
    own = own or clock.span_ms(capacity_ms * 1000)
    if level_ms == -2 then
      if cost == 1 then
        clock.store_for(key, own, next_ms * 1000) -- text: Redis 7.0 takes 6 % of a call to print the number
      else
        clock.store(key, own, next_ms)
      end
      return true, burst - cost, next_ms * 1000, 0
    end
    next_ms = next_ms + level_ms
    local room_ms = capacity_ms - next_ms
    if level_ms > 0 and room_ms >= 0 then
      local value = clock.read_until(key, next_ms)
      if value == own or token_bucket_ttl.capacity_in(value) >= next_ms then
        return true, (room_ms - room_ms % interval_ms) / interval_ms, next_ms * 1000, 0
      end
      clock.expire(key, level_ms * 1000)
    elseif level_ms > 0 and level_ms <= 2 * capacity_ms and redis.call('GET', key) == own then
      local left = math.floor((capacity_ms - level_ms) / interval_ms)
      return false, left > 0 and left or 0, level_ms * 1000, -room_ms * 1000
    end
  end
  local allowed, left, full_us, wait_us, next_full_us, value = token_bucket.check(key, interval_ms, limit, period_us, burst, cost, clock_us)
  if allowed == nil then
    return nil, left
  elseif allowed and cost > 0 then
    return true, left - cost, token_bucket.store(key, next_full_us, value), 0
  end
  return allowed, left, full_us, wait_us
end

-- Stores what check returned for an allowed call, and returns the time until the bucket is full.
function token_bucket.store(key, full_us, value)
  if value then
    clock.store(key, value, math.ceil(full_us / 1000))
  else
    clock.expire(key, full_us)
  end
  return full_us
end

-- Returns cost tokens to a bucket, up to its burst, and deletes a full one. Returns whether there was room for any, the tokens
-- left, and the time until the bucket is full; or nil and a refusal.
function token_bucket.refund(key, interval_ms, limit, period_us, burst, cost, clock_us)
  local allowed, left, full_us, _, next_full_us, value = token_bucket.check(key, interval_ms, limit, period_us, burst, -cost, clock_us)
  if allowed == nil then
    return nil, left
  elseif full_us == 0 then
    return false, burst, 0
  elseif cost == 0 then
    return false, left, full_us
  elseif next_full_us <= 0 then
    redis.call('DEL', key)
    return true, burst, 0
  end
  return true, left, token_bucket.store(key, next_full_us, value)
end

return token_bucket
