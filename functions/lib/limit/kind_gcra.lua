--- A gcra as a kind of limit.
--- @use token_bucket token_bucket_ttl
--- @lib kind_gcra
local kind_gcra = {redis_type = 'string'}

-- The longest time in which a bucket may fill, 100 years.
local longest_ms = 3153600000000

-- Returns the milliseconds in which a bucket gains a token if its key's expiry can be the tat; otherwise 0.
local function whole_interval_ms(limit, period_us, burst)
  local interval_ms = period_us / (limit * 1000)
  if interval_ms % 1 == 0 and burst * interval_ms <= longest_ms then
    return interval_ms
  end
  return 0
end

local function check_timed(row, key, cost, clock_us, answer)
  local allowed, left, wait_us, full_us, next_full_us, value = token_bucket.check(key, row.limit, row.window_us, row.burst, cost, clock_us)
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

function kind_gcra.prepare(row)
  row.interval_ms = whole_interval_ms(row.limit, row.window_us, row.burst)
  row.capacity_ms = row.burst * row.interval_ms
  row.capacity = string.format('%.0f', row.capacity_ms)
  row.needs_clock = row.interval_ms == 0
  row.weighted = true
  if row.needs_clock then
    row.check = check_timed
  end
  if row.needs_clock or row.cost == 0 then
    row.take = nil
  end
  return row
end

function kind_gcra.check(row, key, cost, _, answer)
  local allowed, left, wait_us, full_us, next_full_us, value = token_bucket_ttl.check(key, row.interval_ms, row.capacity_ms, cost, row.capacity)
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

function kind_gcra.charge(_, key, cost, _, answer)
  local full_us = answer.next_full_us or 0
  answer.remaining = answer.remaining - cost
  answer.reset_after_us = full_us
  token_bucket.store(key, full_us, answer.value)
end

function kind_gcra.take(row, key, cost)
  return token_bucket_ttl.take(key, row.interval_ms, row.capacity_ms, cost, row.capacity)
end

-- Refunds what was taken age_us ago, when the bucket needed left_us to be full.
function kind_gcra.refund(row, key, cost, left_us, age_us, _, clock_us)
  if age_us < left_us then
    token_bucket.refund(key, row.limit, row.window_us, row.burst, cost, clock_us)
  end
end

return kind_gcra
