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

-- Checks a call of that cost. Returns allowed, the tokens left after it, the wait until cost is allowed, and the time until the
-- bucket is full without the call. If allowed, it also returns that time after the call, and the value to store, nil if the key
-- already has it. Or nil and a refusal. Reads the clock if the bucket needs it and clock_us is nil.
function token_bucket.check(key, limit, period_us, burst, cost, clock_us)
  local limit_ms = limit * 1000
  if period_us % limit_ms == 0 then
    local interval_ms = period_us / limit_ms
    if burst * interval_ms <= longest_ms then
      return token_bucket_ttl.check(key, interval_ms, burst * interval_ms, cost)
    end
  end
  local capacity_us, capacity_part = token_bucket_value.span(burst, limit, period_us)
  return token_bucket_value.check(key, limit, period_us, capacity_us, capacity_part, cost, clock_us or clock.now_us())
end

-- Checks a call, and takes cost if it is allowed. Returns allowed, the tokens left after the call, the time until the bucket is
-- full, and the wait until cost is allowed; or nil and a refusal.
function token_bucket.take(key, limit, period_us, burst, cost, clock_us)
  local limit_ms = limit * 1000
  if period_us % limit_ms == 0 and cost > 0 then
    local interval_ms = period_us / limit_ms
    if burst * interval_ms <= longest_ms then
      local capacity_ms = burst * interval_ms
      return token_bucket_ttl.take(key, interval_ms, capacity_ms, cost, clock.span_ms(capacity_ms * 1000))
    end
  end
  local allowed, left, wait_us, full_us, next_full_us, value = token_bucket.check(key, limit, period_us, burst, cost, clock_us)
  if allowed == nil then
    return nil, left
  end
  if allowed and cost > 0 then
    token_bucket.store(key, next_full_us, value)
    return true, left, next_full_us, 0
  end
  return allowed, left, full_us, wait_us
end

-- Stores what check returned for an allowed call.
function token_bucket.store(key, full_us, value)
  if value then
    clock.store(key, value, math.ceil(full_us / 1000))
  else
    clock.expire(key, full_us)
  end
end

-- Returns cost tokens to a bucket, up to its burst, and deletes a full one. Returns whether there was room for any, the tokens
-- left, and the time until the bucket is full; or nil and a refusal.
function token_bucket.refund(key, limit, period_us, burst, cost, clock_us)
  local allowed, left, _, full_us, next_full_us, value = token_bucket.check(key, limit, period_us, burst, -cost, clock_us)
  if allowed == nil then
    return nil, left
  end
  if not allowed or full_us == 0 then
    return false, burst, 0
  end
  if next_full_us <= 0 then
    redis.call('DEL', key)
    return true, burst, 0
  end
  token_bucket.store(key, next_full_us, value)
  return true, left, next_full_us
end

return token_bucket
