--- A token bucket that is a time in a string: for any emission interval, also a fraction of a microsecond.
---
--- The value is the tat in microseconds, with what is left of a microsecond as a fraction: '1763706467123584 3/7'.
--- @use clock refusal ttl_bucket
--- @lib value_bucket
--- @state value_bucket 1 the tat in microseconds, with what is left of one as a fraction: '1763706467123584 3/7'
local value_bucket = {}

-- The time in which so many tokens are gained: whole microseconds, and the rest in 1/limit microseconds.
function value_bucket.span(tokens, limit, period_us)
  if period_us % limit == 0 then
    return tokens * (period_us / limit), 0
  end
  local parts = tokens * (period_us % limit)
  return tokens * math.floor(period_us / limit) + math.floor(parts / limit), parts % limit
end

-- How many whole tokens are gained in room_us + room_part/limit microseconds, none where that is less than nothing;
-- room_part may be negative.
local function gained(room_us, room_part, limit, period_us)
  local parts = room_us * limit + room_part
  if parts <= 9007199254740992 then
    return math.max(math.floor(parts / period_us), 0)
  end
  if room_part < 0 then
    room_us = room_us - 1
    room_part = room_part + limit
  end
  -- The estimate is rounded, and off by one at most.
  local estimate = math.floor((room_us + room_part / limit) / period_us * limit)
  for tokens = estimate + 1, estimate - 1, -1 do
    local span_us, span_part = value_bucket.span(tokens, limit, period_us)
    if span_us < room_us or span_us == room_us and span_part <= room_part then
      return math.max(tokens, 0)
    end
  end
  return 0
end

-- The tat in a value: microseconds, and the fraction above / below; nil when it is none.
local function parse(value)
  -- No time has more than 16 digits: what is longer has a fraction.
  if #value <= 16 then
    local tat_us = clock.parse_us(value)
    if tat_us then
      return tat_us, 0, 1
    end
  end
  local whole, above, below = string.match(value, '^(%d+) (%d+)/(%d+)$')
  if not whole then
    return nil
  end
  local tat_us, part, parts = whole + 0, above + 0, below + 0
  if tat_us <= 9007199254740992 and part < parts and parts <= 1000000 then
    return tat_us, part, parts
  end
  return nil
end

-- How far the tat is ahead of the clock. A fraction that was stored under another limit is rounded up to one of this one.
local function level(key, value, limit, clock_us)
  if value == 'ttl' then
    local level_us, failure = ttl_bucket.level_us(key, value)
    if not level_us then
      return nil, failure
    end
    -- The bucket is full at a whole millisecond, and the clock is somewhere inside of one.
    return math.max(level_us - clock_us % 1000, 0), 0
  end
  local tat_us, part, parts = parse(value)
  if not tat_us then
    return nil, refusal.state(key, 'holds no time of a token bucket')
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

-- What token_bucket.judge returns, for a bucket that fills in capacity_us + capacity_part/limit microseconds.
function value_bucket.judge(key, limit, period_us, capacity_us, capacity_part, cost, clock_us)
  local level_us, level_part = 0, 0
  local value = redis.call('GET', key)
  if value then
    local stored_us, stored_part = level(key, value, limit, clock_us)
    if not stored_us then
      return nil, stored_part
    end
    -- It was empty at most. If it takes longer to fill the clock was set back since; longer than twice that, and it is a
    -- broken clock's: the key starts anew.
    if (stored_us - 2 * capacity_us) * limit + stored_part - 2 * capacity_part <= 0 then
      level_us = stored_us
      level_part = stored_part
    end
  end

  local full_us = level_us
  if level_part > 0 then
    full_us = level_us + 1
  end
  local next_us, next_part = value_bucket.span(cost, limit, period_us)
  next_us = level_us + next_us
  next_part = level_part + next_part
  if next_part >= limit then
    next_us = next_us + 1
    next_part = next_part - limit
  end
  if cost >= 0 and (next_us > capacity_us or next_us == capacity_us and next_part > capacity_part) then
    local wait_us = next_us - capacity_us
    if next_part > capacity_part then
      wait_us = wait_us + 1
    end
    return false, gained(capacity_us - level_us, capacity_part - level_part, limit, period_us), wait_us, full_us
  end
  local left = gained(capacity_us - next_us, capacity_part - next_part, limit, period_us)
  if next_part == 0 then
    return true, left, 0, full_us, next_us, clock_us + next_us
  end
  return true, left, 0, full_us, next_us + 1, string.format('%.0f %d/%d', clock_us + next_us, next_part, limit)
end

return value_bucket
