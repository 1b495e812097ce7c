--- A sliding counter in one string: the use of this window and of the previous one, which counts in proportion to its part that
--- still lies in the last window's length.
---
--- The value is exponent * 10^14 + before * 10^7 + current, so a call inside the window is one INCRBY. The key expires two
--- windows after this one began, which gives the clock's position in it. The window of the writing call is shorter than
--- 2^exponent milliseconds, because callers with other windows may share the key.
---
--- A count is at most a million and a window 90 days, so the value and every product stay below 2^53. No quotient rounds up to a
--- whole number.
--- @use clock refusal whole_number
--- @lib counter_pair
--- @state counter_pair 1 exponent * 10^14 + before * 10^7 + current; the window is shorter than 2^exponent ms, and the key expires two windows after it
---     began
local counter_pair = {}

local scale = 100000000000000
local shift = 10000000
local max_count = 1000000
local max_exponent = 33

-- Returns the use of the previous window and of this one, how far this window has gone in milliseconds, and whether the key is of
-- this window; or nil and a refusal. A window that begins in the future has negative elapsed time and counts in full; one that
-- begins further ahead than its length is from a wrong clock. If a shorter window was written, all of its use counts as the
-- previous window: it is recent, and the key's expiry would give a wrong position in this one.
local function read(key, window_ms)
  local stored = redis.call('GET', key)
  if not stored then
    return 0, 0, 0, false
  end
  local value = whole_number.parse(stored, max_exponent * scale + max_count * shift + max_count)
  local left_ms = clock.left_ms(key)
  if not value or left_ms == -1 then
    return nil, refusal.state(key, 'holds no pair of counts that expires')
  end
  local pair = value % scale
  local current = pair % shift
  local before = (pair - current) / shift
  if value < scale or before > max_count or current > max_count then
    return nil, refusal.state(key, 'holds no pair of counts that expires')
  end
  local bound_ms = 2 ^ ((value - pair) / scale)
  if left_ms <= 0 or left_ms > 3 * bound_ms then
    return 0, 0, 0, false
  end
  if bound_ms <= window_ms then
    return math.min(before + current, max_count), 0, window_ms - left_ms, false
  end
  local elapsed_ms = 2 * window_ms - left_ms
  if elapsed_ms >= window_ms then
    return current, 0, elapsed_ms - window_ms, false
  end
  return before, current, elapsed_ms, true
end

-- Begins a window with that cost elapsed_ms ago, but not in the future. Returns its elapsed time.
local function begin(key, window_ms, before, cost, elapsed_ms)
  elapsed_ms = math.max(elapsed_ms, 0)
  local _, exponent = math.frexp(window_ms)
  clock.store(key, exponent * scale + before * shift + cost, 2 * window_ms - elapsed_ms)
  return elapsed_ms
end

-- Returns the weight of the previous window, rounded up.
local function weigh(before, elapsed_ms, window_ms)
  return math.ceil(before * (window_ms - math.max(elapsed_ms, 0)) / window_ms)
end

-- Returns how far a window has gone when a count of the previous window weighs at most room.
local function fits_at(count, room, window_ms)
  if count <= room then
    return 0
  end
  return window_ms - math.floor(room * window_ms / count)
end

-- Returns the time until nothing counts, in microseconds.
local function forgotten_us(before, current, elapsed_ms, window_ms)
  if current > 0 then
    return (2 * window_ms - elapsed_ms) * 1000
  end
  if before > 0 then
    return (window_ms - elapsed_ms) * 1000
  end
  return 0
end

-- Checks a call of that cost. Returns allowed, what is left without it, the time until nothing counts, the wait until cost is
-- allowed, the elapsed time of the window, and the previous count if the key is not of this window; or nil and a refusal.
function counter_pair.check(key, limit, window_ms, cost)
  local before, current, elapsed_ms, is_current = read(key, window_ms)
  if not before then
    return nil, current
  end
  local left = limit - current - weigh(before, elapsed_ms, window_ms)
  local reset_us = forgotten_us(before, current, elapsed_ms, window_ms)
  if cost <= left then
    return true, left, reset_us, 0, elapsed_ms, not is_current and before
  end
  local wait_ms
  if current + cost <= limit then
    wait_ms = fits_at(before, limit - current - cost, window_ms) - elapsed_ms
  else
    wait_ms = window_ms - elapsed_ms + fits_at(current, limit - cost, window_ms)
  end
  return false, math.max(left, 0), reset_us, wait_ms * 1000
end

-- Charges cost, which check allowed, and returns the time until nothing counts.
function counter_pair.charge(key, cost, window_ms, elapsed_ms, rolled)
  if rolled then
    elapsed_ms = begin(key, window_ms, rolled, cost, elapsed_ms)
  else
    redis.call('INCRBY', key, cost)
  end
  return (2 * window_ms - elapsed_ms) * 1000
end

-- Refunds cost: to this window unless it was charged in the previous one, and the rest to the previous one. Returns how much was
-- refunded, what is left, and the time until nothing counts; or nil and a refusal.
function counter_pair.refund(key, limit, window_ms, cost, taken_before)
  local before, current, elapsed_ms, is_current = read(key, window_ms)
  if not before then
    return nil, current
  end
  local current_refund = 0
  if not taken_before then
    current_refund = math.min(current, cost)
  end
  local before_refund = math.min(before, cost - current_refund)
  local back = current_refund + before_refund
  before = before - before_refund
  current = current - current_refund
  if back > 0 and before + current == 0 then
    redis.call('DEL', key)
  elseif back > 0 and is_current then
    redis.call('DECRBY', key, before_refund * shift + current_refund)
  elseif back > 0 then
    elapsed_ms = begin(key, window_ms, before, 0, elapsed_ms)
  end
  local left = limit - current - weigh(before, elapsed_ms, window_ms)
  return back, math.max(left, 0), forgotten_us(before, current, elapsed_ms, window_ms)
end

return counter_pair
