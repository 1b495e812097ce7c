--- A fixed window in one string: how much was taken since the window began. The key expires with the window.
--- @use clock refusal whole
--- @lib window_count
--- @state window_count 1 how much was taken; the key expires with the window
local window_count = {}

-- No limit is higher, so no count is.
local most = 1000000

-- Reads the window from what the key holds, false without it: how much was taken in it, and the milliseconds until it ends;
-- 0 and 0 when none is going on; or nil and a refusal.
-- A window ends in the millisecond in which its key has none left. One that began ahead of the clock began now, and ends
-- when its key does; further ahead than its length it is a broken clock's, and over.
local function read(key, stored, window_ms)
  if not stored then
    return 0, 0
  end
  local used = whole.parse(stored, most)
  local left_ms = clock.left_ms(key)
  if not used or left_ms == -1 then
    return nil, refusal.state(key, 'holds no count that expires')
  end
  if left_ms <= 0 or left_ms > 2 * window_ms then
    return 0, 0
  end
  return used, left_ms
end

-- Judges a call of that cost in a window of so many milliseconds. Returns allowed, what is left after it, the wait until
-- cost is allowed, and the time until the window ends, 0 when the call begins one; or nil and a refusal.
function window_count.judge(key, limit, window_ms, cost)
  if cost > limit then
    return nil, refusal.argument('cost must be at most limit: more is never there')
  end
  local stored = redis.call('GET', key)
  if not stored then
    return true, limit - cost, 0, 0
  end
  local used, left_ms = read(key, stored, window_ms)
  if not used then
    return nil, left_ms
  end
  if used + cost > limit then
    return false, math.max(limit - used, 0), left_ms * 1000, left_ms * 1000
  end
  return true, limit - used - cost, 0, left_ms * 1000
end

-- Takes cost, which was allowed, and returns the time until the window ends.
function window_count.charge(key, cost, window_ms, end_us)
  local amount = cost
  if cost == 1 then
    amount = '1' -- Redis 7.0 prints a number argument with 17 digits, which takes longer than to send it
  end
  if end_us > 0 then
    redis.call('INCRBY', key, amount) -- rlfunc:ignore missing-ttl the window has begun, and with it the key's expiry
    return end_us
  end
  clock.store_for(key, amount, window_ms * 1000)
  return window_ms * 1000
end

-- Gives cost back to the window that is going on. Returns how much was given back, how much is taken still, and the time
-- until the window ends; or nil and a refusal. With nothing taken there is no window.
function window_count.refund(key, window_ms, cost)
  local used, left_ms = read(key, redis.call('GET', key), window_ms)
  if not used then
    return nil, left_ms
  end
  if used == 0 then
    return 0, 0, 0
  end
  if used <= cost then
    redis.call('DEL', key)
    return used, 0, 0
  end
  redis.call('DECRBY', key, cost) -- rlfunc:ignore missing-ttl the window has begun, and with it the key's expiry
  return cost, used - cost, left_ms * 1000
end

return window_count
