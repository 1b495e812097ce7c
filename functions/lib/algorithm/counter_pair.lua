--- A sliding counter in one string: the use of this window and of the previous one, which counts in proportion to its part that
--- still lies in the last window's length.
---
--- The value is exponent * 10^14 + before * 10^7 + current, so a call inside the window is one INCRBY. If a count needs more than seven
--- digits, it is these three numbers as text. The key expires two windows after this one began, which gives the clock's position in it. The
--- window of the writing call is shorter than 2^exponent milliseconds, because callers with other windows may share the key.
---
--- A count is at most 10^12, the largest limit, and a window 90 days: their products are above 2^53, so product divides them.
--- @use clock refusal whole_number product
--- @lib counter_pair
--- @state counter_pair 1 exponent * 10^14 + before * 10^7 + current, or '<exponent> <before> <current>' if a count has more than seven digits;
---     the window is shorter than 2^exponent ms, and the key expires two windows after it began
local counter_pair = {}

local scale = 100000000000000
local shift = 10000000
local max_count = 1000000000000
local max_exponent = 33

-- Returns the value that holds these counts.
local function pack(exponent, before, current)
  if before < shift and current < shift then
    return exponent * scale + before * shift + current
  end
  return string.format('%.0f %.0f %.0f', exponent, before, current)
end

-- Parses the counts that are text; nil if they are invalid.
local function parse(stored)
  local first, second, third = string.match(stored, '^(%d+) (%d+) (%d+)$')
  local exponent, before, current = tonumber(first or 0), tonumber(second or 0), tonumber(third or 0)
  local most = math.max(before, current)
  if exponent >= 1 and exponent <= max_exponent and most >= shift and most <= max_count and pack(exponent, before, current) == stored then
    return exponent, before, current
  end
  return nil, 0, 0
end

-- Returns the use of the previous window and of this one, and how far this window has gone in milliseconds; if the key is of this window,
-- also its exponent and whether it holds text. Or nil and a refusal. A window that begins in the future has negative elapsed time and
-- counts in full; one that begins further ahead than its length is from a wrong clock. If a shorter window was written, all of its use
-- counts as the previous window: it is recent, and the key's expiry would give a wrong position in this one.
local function read(key, window_ms)
  local stored = redis.call('GET', key)
  if not stored then
    return 0, 0, 0
  end
  local value = whole_number.parse(stored, (max_exponent + 1) * scale - 1)
  local left_ms = clock.left_ms(key)
  local exponent, before, current
  if not value then
    exponent, before, current = parse(stored)
  elseif value >= scale then
    local pair = value % scale
    current = pair % shift
    before = (pair - current) / shift
    exponent = (value - pair) / scale
  end
  if not exponent or left_ms == -1 then
    return nil, refusal.state(key, 'holds no pair of counts that expires')
  end
  local bound_ms = 2 ^ exponent
  if left_ms <= 0 or left_ms > 3 * bound_ms then
    return 0, 0, 0
  end
  if bound_ms <= window_ms then
    return math.min(before + current, max_count), 0, window_ms - left_ms
  end
  local elapsed_ms = 2 * window_ms - left_ms
  if elapsed_ms >= window_ms then
    return current, 0, elapsed_ms - window_ms
  end
  return before, current, elapsed_ms, exponent, not value
end

-- Returns the exponent of a window.
local function exponent_of(window_ms)
  local _, exponent = math.frexp(window_ms)
  return exponent
end

-- Stores a value: of this window, or of one that began elapsed_ms ago, but not in the future. Returns the elapsed time.
local function store(key, value, window_ms, elapsed_ms, is_current)
  if is_current then
    redis.call('SET', key, value, 'KEEPTTL')
    return elapsed_ms
  end
  elapsed_ms = math.max(elapsed_ms, 0)
  clock.store(key, value, 2 * window_ms - elapsed_ms)
  return elapsed_ms
end

-- Returns the weight of the previous window, rounded up.
local function weigh(before, elapsed_ms, window_ms)
  local left_ms = window_ms - math.max(elapsed_ms, 0)
  local whole = before * left_ms
  if whole < product.exact then
    return math.ceil(whole / window_ms)
  end
  return product.quotient_up(before, left_ms, window_ms)
end

-- Returns how far a window has gone when a count of the previous window weighs at most room.
local function fits_at(count, room, window_ms)
  if count <= room then
    return 0
  end
  return window_ms - product.quotient(room, window_ms, count)
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
-- allowed, and what charge needs: the elapsed time of the window, the value to store, nil if INCRBY does, and whether that is of the key's
-- window. Or nil and a refusal.
function counter_pair.check(key, limit, window_ms, cost)
  local before, current, elapsed_ms, exponent, is_text = read(key, window_ms)
  if not before then
    return nil, current
  end
  local left = limit - current - weigh(before, elapsed_ms, window_ms)
  local reset_us = forgotten_us(before, current, elapsed_ms, window_ms)
  if cost <= left then
    local value
    if not exponent or is_text or current + cost >= shift then
      value = pack(exponent or exponent_of(window_ms), before, current + cost)
    end
    return true, left, reset_us, 0, elapsed_ms, value, exponent ~= nil
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
function counter_pair.charge(key, cost, window_ms, elapsed_ms, value, is_current)
  if value then
    elapsed_ms = store(key, value, window_ms, elapsed_ms, is_current)
  else
    redis.call('INCRBY', key, cost)
  end
  return (2 * window_ms - elapsed_ms) * 1000
end

-- Refunds cost: to this window unless it was charged in the previous one, and the rest to the previous one. Returns how much was
-- refunded, what is left, and the time until nothing counts; or nil and a refusal.
function counter_pair.refund(key, limit, window_ms, cost, taken_before)
  local before, current, elapsed_ms, exponent = read(key, window_ms)
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
  elseif back > 0 then
    local value = pack(exponent or exponent_of(window_ms), before, current)
    elapsed_ms = store(key, value, window_ms, elapsed_ms, exponent ~= nil)
  end
  local left = limit - current - weigh(before, elapsed_ms, window_ms)
  return back, math.max(left, 0), forgotten_us(before, current, elapsed_ms, window_ms)
end

return counter_pair
