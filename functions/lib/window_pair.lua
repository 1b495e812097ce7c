--- A sliding counter in one string: what was taken in this window and in the one before it, which counts for as much as
--- still lies in the last window's length.
---
--- The value is before * 10,000,000 + current, so that a call inside the window is one INCRBY; the key expires two windows
--- after this one began, which tells where in it the clock is.
--- @use clock refusal whole
--- @lib window_pair
local window_pair = {}

local shift = 10000000

-- Where the clock stands: what was taken before and in the window, how far the window has gone in milliseconds, and
-- whether the key already is of this window; or nil and a refusal.
local function read(key, window_ms)
  local stored = redis.call('GET', key)
  if not stored then
    return 0, 0, 0, false
  end
  local pair = whole.parse(stored)
  local left_ms = clock.left_ms(key)
  if not pair or left_ms == -1 then
    return nil, refusal.state(key, 'holds no pair of counts that expires')
  end
  local gone_ms = 2 * window_ms - left_ms
  local before, current = math.floor(pair / shift), pair % shift
  if gone_ms < 0 or left_ms <= 0 then
    return 0, 0, 0, false -- a broken clock's, or over
  end
  if gone_ms >= window_ms then
    return current, 0, gone_ms - window_ms, false
  end
  return before, current, gone_ms, true
end

-- How far a window has gone when a count of the window before it weighs no more than room.
local function fits_at(count, room, window_ms)
  if count <= room then
    return 0
  end
  return window_ms - math.floor(room * window_ms / count)
end

-- Judges a call of that cost. Returns allowed, what is left after it, the wait until cost is allowed, the time until all
-- is forgotten without the call, how far the window has gone, and for a key that is not of this window what stood
-- before it; or nil and a refusal.
function window_pair.judge(key, limit, window_ms, cost)
  if cost > limit then
    return nil, refusal.argument('cost must be at most limit: more is never there')
  end
  local before, current, gone_ms, here = read(key, window_ms)
  if not before then
    return nil, current
  end
  local weight = math.ceil(before * (window_ms - gone_ms) / window_ms)
  local reset_ms = 0
  if current > 0 then
    reset_ms = 2 * window_ms - gone_ms
  elseif before > 0 then
    reset_ms = window_ms - gone_ms
  end
  local room = limit - current - cost
  if weight <= room then
    local moved = before
    if here then
      moved = nil
    end
    return true, room - weight, 0, reset_ms * 1000, gone_ms, moved
  end
  local wait_ms = window_ms - gone_ms
  if room >= 0 then
    wait_ms = fits_at(before, room, window_ms) - gone_ms
  else
    wait_ms = wait_ms + fits_at(current, limit - cost, window_ms)
  end
  return false, math.max(limit - current - weight, 0), wait_ms * 1000, reset_ms * 1000
end

-- Takes cost, and returns the time until all is forgotten.
function window_pair.charge(key, cost, gone_ms, moved, window_ms)
  local left_ms = 2 * window_ms - gone_ms
  if moved then
    clock.store(key, moved * shift + cost, left_ms)
  else
    redis.call('INCRBY', key, cost) -- rlfunc:ignore missing-ttl the window has begun, and with it the key's expiry
  end
  return left_ms * 1000
end

return window_pair
