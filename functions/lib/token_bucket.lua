--- A token bucket in one string, by the generic cell rate algorithm (ITU-T I.371): exact over the long run.
---
--- The tat (theoretical arrival time) is when the bucket will be full; taking a token moves it one emission interval
--- ahead, and the level is how far it is ahead of the clock. Where the interval is whole milliseconds, the key's expiry is
--- the tat, the value is 'ttl', and the clock is not read. Elsewhere the value is the tat in microseconds, with what is
--- left of a microsecond as a fraction: '1763706467123584 3/7'.
--- @use clock refusal
--- @lib token_bucket
local token_bucket = {}

local unreadable = 'holds no time of a token bucket'

-- The longest time in which a bucket may fill, 100 years: added to any clock it stays exact.
local longest_us = 3153600000000000

-- The time in which so many tokens are gained: whole microseconds, and the rest in 1/limit microseconds.
local function span(tokens, limit, period_us)
  local rest = period_us % limit
  if rest == 0 then
    return tokens * (period_us / limit), 0
  end
  local parts = tokens * rest
  return tokens * math.floor(period_us / limit) + math.floor(parts / limit), parts % limit
end

-- How many whole tokens are gained in room_us + room_part/limit microseconds; room_part may be negative.
local function gained(room_us, room_part, limit, period_us)
  if room_part < 0 then
    room_us = room_us - 1
    room_part = room_part + limit
  end
  if period_us % limit == 0 then
    return math.floor(room_us / (period_us / limit))
  end
  -- The estimate is rounded, and off by one at most.
  local estimate = math.floor((room_us + room_part / limit) / period_us * limit)
  for tokens = estimate + 1, estimate - 1, -1 do
    local span_us, span_part = span(tokens, limit, period_us)
    if span_us < room_us or span_us == room_us and span_part <= room_part then
      return math.max(tokens, 0)
    end
  end
  return 0
end

-- The level as the key's expiry tells it, in microseconds.
local function level_by_ttl(key, value)
  local left_ms = clock.left_ms(key)
  if left_ms == -1 or value ~= 'ttl' and not string.find(value, '^%d') then
    return nil, refusal.state(key, unreadable)
  end
  return math.max(left_ms, 0) * 1000, 0
end

-- The level as the value tells it. A fraction that was stored under another limit is rounded up to one of this limit.
local function level_by_value(key, value, limit, clock_us)
  if value == 'ttl' then
    return level_by_ttl(key, value)
  end
  local whole, above, below = string.match(value, '^(%d+) (%d+)/(%d+)$')
  local tat_us = clock.parse_us(whole or value)
  local part, parts = clock.parse_us(above or '0'), clock.parse_us(below or '1')
  if not tat_us or not part or not parts or part >= parts then
    return nil, refusal.state(key, unreadable)
  end
  if tat_us < clock_us then
    return 0, 0
  end
  if parts ~= limit and part > 0 then
    part = math.ceil(part * limit / parts)
    if part == limit then
      return tat_us - clock_us + 1, 0
    end
  end
  return tat_us - clock_us, part
end

-- Judges a call of that cost. Returns allowed, the tokens left after it, the wait until cost is allowed, the time until
-- the bucket is full without the call, and when allowed the same after the call with the value to store for that time;
-- or nil and a refusal.
function token_bucket.judge(key, limit, period_us, burst, cost)
  local capacity_us, capacity_part = span(burst, limit, period_us)
  if capacity_us > longest_us then
    return nil, refusal.argument('burst must be gained within 100 years: it needs a lower burst or period, or a higher limit')
  end
  if cost > burst then
    return nil, refusal.argument('cost must be at most burst: more is never there')
  end
  local by_ttl = period_us % (limit * 1000) == 0
  local clock_us, level_us, level_part = 0, 0, 0
  local value = redis.call('GET', key)
  if not by_ttl then
    clock_us = clock.now_us()
  end
  if value then
    local stored_us, stored_part
    if by_ttl then
      stored_us, stored_part = level_by_ttl(key, value)
    else
      stored_us, stored_part = level_by_value(key, value, limit, clock_us)
    end
    if not stored_us then
      return nil, stored_part
    end
    -- A tat further ahead than a full bucket is a broken clock's: the key starts anew.
    if stored_us < capacity_us or stored_us == capacity_us and stored_part <= capacity_part then
      level_us = stored_us
      level_part = stored_part
    end
  end

  local full_us = level_us
  if level_part > 0 then
    full_us = level_us + 1
  end
  local cost_us, cost_part = span(cost, limit, period_us)
  local next_us, next_part = level_us + cost_us, level_part + cost_part
  if next_part >= limit then
    next_us = next_us + 1
    next_part = next_part - limit
  end
  if next_us > capacity_us or next_us == capacity_us and next_part > capacity_part then
    local wait_us = next_us - capacity_us
    if next_part > capacity_part then
      wait_us = wait_us + 1
    end
    local left = gained(capacity_us - level_us, capacity_part - level_part, limit, period_us)
    return false, left, wait_us, full_us
  end
  local left = gained(capacity_us - next_us, capacity_part - next_part, limit, period_us)
  local next_full_us = next_us
  local stored = 'ttl'
  if not by_ttl then
    stored = string.format('%.0f', clock_us + next_us)
  end
  if next_part > 0 then
    next_full_us = next_us + 1
    stored = string.format('%.0f %d/%d', clock_us + next_us, next_part, limit)
  end
  return true, left, 0, full_us, next_full_us, stored
end

return token_bucket
