--- A fixed window in one string: how much was taken since the window began. The key expires with the window.
--- @use clock refusal whole
--- @lib window_count
local window_count = {}

-- Judges a call of that cost in a window of so many milliseconds. Returns allowed, what is left after it, the wait until
-- cost is allowed, the time until the window ends, and whether the call begins a window; or nil and a refusal.
function window_count.judge(key, limit, window_ms, cost)
  if cost > limit then
    return nil, refusal.argument('cost must be at most limit: more is never there')
  end
  local stored = redis.call('GET', key)
  if not stored then
    return true, limit - cost, 0, 0, true
  end
  local used = whole.parse(stored)
  local left_ms = clock.left_ms(key)
  if not used or left_ms == -1 then
    return nil, refusal.state(key, 'holds no count that expires')
  end
  -- A window ends in the millisecond in which its key has none left; one that ends later than it can is a broken clock's.
  if left_ms <= 0 or left_ms > window_ms then
    return true, limit - cost, 0, 0, true
  end
  if used + cost > limit then
    return false, math.max(limit - used, 0), left_ms * 1000, left_ms * 1000, false
  end
  return true, limit - used - cost, 0, left_ms * 1000, false
end

-- Takes cost, and returns the time until the window ends.
function window_count.charge(key, cost, begins, window_ms, left_us)
  if begins then
    clock.store(key, cost, window_ms)
    return window_ms * 1000
  end
  redis.call('INCRBY', key, cost) -- rlfunc:ignore missing-ttl the window has begun, and with it the key's expiry
  return left_us
end

return window_count
