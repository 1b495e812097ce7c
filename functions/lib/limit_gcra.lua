--- A gcra as a kind of limit.
--- @use token_bucket ttl_bucket
--- @lib limit_gcra
local limit_gcra = {redis_type = 'string'}

-- The longest time in which a bucket may fill, 100 years.
local longest_ms = 3153600000000

-- The milliseconds in which a bucket gains a token, where its key's expiry can be the tat; else 0.
local function whole_interval_ms(limit, period_us, burst)
  local interval_ms = period_us / (limit * 1000)
  if interval_ms % 1 == 0 and burst * interval_ms <= longest_ms then
    return interval_ms
  end
  return 0
end

local function judge_timed(row, key, cost, clock_us, answer)
  local allowed, left, wait_us, full_us, next_full_us, value = token_bucket.judge(key, row.limit, row.window_us, row.burst, cost, clock_us)
  if allowed == nil then
    return nil, left
  end
  answer.next_full_us = next_full_us
  answer.value = value
  if allowed then
    left = left + cost
  end
  return allowed, left, full_us, wait_us
end

function limit_gcra.prepare(row)
  row.interval_ms = whole_interval_ms(row.limit, row.window_us, row.burst)
  row.capacity_ms = row.burst * row.interval_ms
  row.capacity = string.format('%.0f', row.capacity_ms)
  row.timed = row.interval_ms == 0
  row.weighs = true
  if row.timed then
    row.judge = judge_timed
  end
  if row.timed or row.cost == 0 then
    row.take = nil
  end
  return row
end

function limit_gcra.judge(row, key, cost, _, answer)
  -- rlfunc:ignore maybe-nil prepare sets them
  local allowed, left, wait_us, full_us, next_full_us, value = ttl_bucket.judge(key, row.interval_ms, row.capacity_ms, cost, row.capacity)
  if allowed == nil then
    return nil, left
  end
  answer.next_full_us = next_full_us
  answer.value = value
  if allowed then
    left = left + cost
  end
  return allowed, left, full_us, wait_us
end

function limit_gcra.charge(_, key, cost, _, answer)
  local full_us = answer.next_full_us or 0
  answer.remaining = answer.remaining - cost
  answer.reset_after_us = full_us
  token_bucket.store(key, full_us, answer.value)
end

function limit_gcra.take(row, key, cost)
  -- rlfunc:ignore call-argument prepare sets them
  return ttl_bucket.take(key, row.interval_ms, row.capacity_ms, cost, row.capacity) -- rlfunc:ignore maybe-nil as above
end

-- Gives back what was taken age_us ago, when the bucket was full after left_us.
function limit_gcra.give_back(row, key, cost, left_us, age_us, _, clock_us)
  if age_us < left_us then
    token_bucket.refund(key, row.limit, row.window_us, row.burst, cost, clock_us)
  end
end

return limit_gcra
