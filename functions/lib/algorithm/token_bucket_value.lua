--- A token bucket in its key's value, for any emission interval, including fractions of a microsecond.
---
--- The value is the tat in microseconds, the capacity of the writing call in milliseconds, and the rest of a microsecond as a
--- fraction: '1763706467123584 60000 3/7'. The capacity is at least the level. Only a level above twice the capacity is from a
--- wrong clock.
---
--- Every limit up to 10^12 is exact: where tokens times a period are above 2^53, product divides them.
--- @use refusal token_bucket_ttl product
--- @lib token_bucket_value
--- @state token_bucket_value 1 the tat in microseconds, the writer's capacity in milliseconds, the fraction of a microsecond: '1763706467123584 60000 3/7'
local token_bucket_value = {}

-- Rounds microseconds and a part of one up.
local function rounded_up(us, part)
  if part > 0 then
    return us + 1
  end
  return us
end

-- Returns the time in which that many tokens are gained: whole microseconds, and the rest in 1/limit microseconds. More than 100 years,
-- in a refund, may be rounded.
local function span(tokens, limit, period_us)
  if tokens == limit then
    return period_us, 0
  end
  local rest_us = period_us % limit
  if rest_us == 0 then
    return tokens * (period_us / limit), 0
  end
  local parts, whole_us = tokens * rest_us, tokens * math.floor(period_us / limit)
  if parts >= 0 and parts < product.exact then
    return whole_us + math.floor(parts / limit), parts % limit
  end
  local us, part = product.quotient(tokens, rest_us, limit)
  return whole_us + us, part
end

-- Returns how many whole tokens are gained in room_us + room_part/limit microseconds, at least 0; room_part may be negative.
local function gained(room_us, room_part, limit, period_us)
  local parts = room_us * limit
  if parts < product.exact then -- and their sum with room_part below 2^53
    return math.max(math.floor((parts + room_part) / period_us), 0)
  end
  if room_part < 0 then
    room_us = room_us - 1
    room_part = room_part + limit
  end
  -- The estimate, at most 10^12, is rounded by less than 2^-10, so it is off by at most one.
  local estimate = math.floor((room_us + room_part / limit) / period_us * limit)
  for tokens = estimate + 1, estimate - 1, -1 do
    local span_us, span_part = span(tokens, limit, period_us)
    if span_us < room_us or span_us == room_us and span_part <= room_part then
      return math.max(tokens, 0)
    end
  end
  return 0
end

-- Parses a value: the tat in microseconds, the numerator and denominator of the fraction, and the capacity; nil if invalid.
local function parse(value)
  local whole, capacity, above, below = string.match(value, '^(%d+) (%d+) (%d+)/(%d+)$')
  if not whole then
    return nil
  end
  local tat_us, part, parts, stored_ms = whole + 0, above + 0, below + 0, capacity + 0
  if tat_us <= 9007199254740992 and part < parts and parts <= 1000000000000 and token_bucket_ttl.is_capacity(stored_ms) then
    return tat_us, part, parts, stored_ms
  end
  return nil
end

-- Returns how far the tat is ahead of the clock, in microseconds and 1/limit of one, and the capacity of the writing call; or nil
-- and a refusal. A fraction that another limit wrote is rounded up to one of this limit.
local function read(key, value, limit, clock_us)
  local tat_us, part, parts, stored_ms = parse(value)
  if not tat_us then
    if not tonumber(value) then
      return nil, refusal.state(key, 'holds no time of a token bucket')
    end
    local left_ms, capacity_ms = token_bucket_ttl.read(key, value)
    if not left_ms then
      return nil, capacity_ms
    end
    -- The bucket is full at a whole millisecond, and the clock is somewhere inside one.
    return math.max(left_ms * 1000 - clock_us % 1000, 0), 0, capacity_ms
  end
  if tat_us < clock_us then
    return 0, 0, stored_ms
  end
  if parts ~= limit and part > 0 then
    part = product.quotient_up(part, limit, parts)
    if part == limit then
      return tat_us - clock_us + 1, 0, stored_ms
    end
  end
  return tat_us - clock_us, part, stored_ms
end

-- Returns what token_bucket.check returns.
function token_bucket_value.check(key, limit, period_us, burst, cost, clock_us)
  local capacity_us, capacity_part = span(burst, limit, period_us)
  local level_us, level_part, full_us, stored_ms = 0, 0, 0, 0
  local value = redis.call('GET', key)
  if value then
    local ahead_us, ahead_part, written_ms = read(key, value, limit, clock_us)
    if not ahead_us then
      return nil, ahead_part
    end
    -- The bucket was at most empty. If it takes longer to fill, the clock was set back; if twice as long, a wrong clock wrote it,
    -- and the bucket starts full.
    if rounded_up(ahead_us, ahead_part) <= 2000 * written_ms then
      level_us = ahead_us
      level_part = ahead_part
      full_us = rounded_up(ahead_us, ahead_part)
      stored_ms = written_ms
    end
  end

  local next_us, next_part = span(cost, limit, period_us)
  next_us = level_us + next_us
  next_part = level_part + next_part
  if next_part >= limit then
    next_us = next_us + 1
    next_part = next_part - limit
  end
  if cost < 0 then
    level_us = next_us
    level_part = next_part
  end
  local left = gained(capacity_us - level_us, capacity_part - level_part, limit, period_us)
  local above = next_us > capacity_us or next_us == capacity_us and next_part > capacity_part
  if above and cost >= 0 then
    return false, left, full_us, rounded_up(next_us - capacity_us, next_part - capacity_part)
  end
  local to_store_ms = math.ceil(rounded_up(capacity_us, capacity_part) / 1000)
  if above then
    to_store_ms = stored_ms
  end
  return true, left, full_us, 0, rounded_up(next_us, next_part),
    string.format('%.0f %d %d/%d', clock_us + next_us, to_store_ms, next_part, limit)
end

return token_bucket_value
