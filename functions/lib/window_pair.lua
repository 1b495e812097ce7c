--- A sliding counter in one string: what was taken in this window and in the one before it, which counts for as much as
--- still lies in the last window's length.
---
--- The value is exponent * 10^14 + before * 10^7 + current, so that a call inside the window is one INCRBY. The key expires two
--- windows after this one began, which tells where in it the clock is. The window of the call that wrote it is shorter than
--- 2^exponent milliseconds: callers with other windows may share the key.
---
--- A count is at most a million and a window 90 days, so the value and every product stay below 2^53, and no quotient is
--- rounded onto a whole number that it is not.
--- @use clock refusal whole
--- @lib window_pair
--- @state window_pair 1 exponent * 10^14 + before * 10^7 + current; the window is shorter than 2^exponent ms, and the key expires two windows after it began
local window_pair = {}

local scale = 100000000000000
local shift = 10000000
local most = 1000000
local highest = 33

-- Where the clock stands: what was taken before and in the window, how far the window has gone in milliseconds, and
-- whether the key is of this window; or nil and a refusal.
-- A window that begins ahead of the clock has gone less than nothing, and counts in full; one that begins further ahead
-- than its length is a broken clock's. Where a shorter window was written, all of it is of the window before: it was taken
-- lately, and the key's expiry would tell a wrong place in this one.
local function read(key, window_ms)
  local stored = redis.call('GET', key)
  if not stored then
    return 0, 0, 0, false
  end
  local value = whole.parse(stored, highest * scale + most * shift + most)
  local left_ms = clock.left_ms(key)
  if not value or left_ms == -1 then
    return nil, refusal.state(key, 'holds no pair of counts that expires')
  end
  local pair = value % scale
  local current = pair % shift
  local before = (pair - current) / shift
  if value < scale or before > most or current > most then
    return nil, refusal.state(key, 'holds no pair of counts that expires')
  end
  local bound_ms = 2 ^ ((value - pair) / scale)
  if left_ms <= 0 or left_ms > 3 * bound_ms then
    return 0, 0, 0, false
  end
  if bound_ms <= window_ms then
    return math.min(before + current, most), 0, window_ms - left_ms, false
  end
  local gone_ms = 2 * window_ms - left_ms
  if gone_ms >= window_ms then
    return current, 0, gone_ms - window_ms, false
  end
  return before, current, gone_ms, true
end

-- Begins a window in which cost is taken, gone_ms ago; if that is ahead of the clock, now. Returns how far it has gone.
local function begin(key, window_ms, before, cost, gone_ms)
  gone_ms = math.max(gone_ms, 0)
  local _, exponent = math.frexp(window_ms)
  clock.store(key, exponent * scale + before * shift + cost, 2 * window_ms - gone_ms)
  return gone_ms
end

-- What the window before weighs, rounded up.
local function weigh(before, gone_ms, window_ms)
  return math.ceil(before * (window_ms - math.max(gone_ms, 0)) / window_ms)
end

-- How far a window has gone when a count of the window before it weighs no more than room.
local function fits_at(count, room, window_ms)
  if count <= room then
    return 0
  end
  return window_ms - math.floor(room * window_ms / count)
end

-- The time until all is forgotten, in microseconds.
local function forgotten_us(before, current, gone_ms, window_ms)
  if current > 0 then
    return (2 * window_ms - gone_ms) * 1000
  end
  if before > 0 then
    return (window_ms - gone_ms) * 1000
  end
  return 0
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
  local weight = weigh(before, gone_ms, window_ms)
  local reset_us = forgotten_us(before, current, gone_ms, window_ms)
  local room = limit - current - cost
  if weight <= room then
    if here then
      return true, room - weight, 0, reset_us, gone_ms
    end
    return true, room - weight, 0, reset_us, gone_ms, before
  end
  local wait_ms
  if room >= 0 then
    wait_ms = fits_at(before, room, window_ms) - gone_ms
  else
    wait_ms = window_ms - gone_ms + fits_at(current, limit - cost, window_ms)
  end
  return false, math.max(limit - current - weight, 0), wait_ms * 1000, reset_us
end

-- Takes cost, which was allowed, and returns the time until all is forgotten.
function window_pair.charge(key, cost, window_ms, gone_ms, moved)
  if moved then
    gone_ms = begin(key, window_ms, moved, cost, gone_ms)
  else
    redis.call('INCRBY', key, cost) -- rlfunc:ignore missing-ttl the window has begun, and with it the key's expiry
  end
  return (2 * window_ms - gone_ms) * 1000
end

-- Gives cost back: to this window unless it was taken in the one before, and what this one has not taken to the one before.
-- Returns how much was given back, how much of the limit is taken still, and the time until all is forgotten; or nil and a
-- refusal.
function window_pair.refund(key, window_ms, cost, taken_before)
  local before, current, gone_ms, here = read(key, window_ms)
  if not before then
    return nil, current
  end
  local now_back = 0
  if not taken_before then
    now_back = math.min(current, cost)
  end
  local then_back = math.min(before, cost - now_back)
  local left_before = before - then_back
  local left_current = current - now_back
  if now_back + then_back == 0 then
    return 0, 0, 0
  end
  if left_before + left_current == 0 then
    redis.call('DEL', key)
    return now_back + then_back, 0, 0
  end
  if here then
    redis.call('DECRBY', key, then_back * shift + now_back) -- rlfunc:ignore missing-ttl the window has begun, and with it the key's expiry
  else
    gone_ms = begin(key, window_ms, left_before, 0, gone_ms)
  end
  local taken = left_current + weigh(left_before, gone_ms, window_ms)
  return now_back + then_back, taken, forgotten_us(left_before, left_current, gone_ms, window_ms)
end

return window_pair
