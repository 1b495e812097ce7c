--- A gcra as a kind of limit.
--- @use token_bucket
--- @lib kind_gcra
local kind_gcra = {redis_type = 'string', weighted = true}

function kind_gcra.prepare(row)
  row.interval_ms = token_bucket.interval_ms(row.limit, row.window_us, row.burst)
  row.needs_clock = not row.interval_ms
  row.capacity = row.interval_ms and string.format('%.0f', row.burst * row.interval_ms)
end

function kind_gcra.check(row, key, cost, clock_us, answer)
  local allowed, left, full_us, wait_us, next_full_us, value =
    token_bucket.check(key, row.interval_ms, row.limit, row.window_us, row.burst, cost, clock_us)
  answer.next_full_us = next_full_us
  answer.value = value
  return allowed, left, full_us, wait_us
end

function kind_gcra.charge(_, key, _, _, answer)
  return token_bucket.store(key, answer.next_full_us or 0, answer.value)
end

function kind_gcra.take(row, key, cost, clock_us)
  return token_bucket.take(key, row.interval_ms, row.limit, row.window_us, row.burst, cost, clock_us, row.capacity)
end

-- Refunds what was taken age_us ago, when the bucket needed left_us to be full.
function kind_gcra.refund(row, key, cost, left_us, age_us, _, clock_us)
  if age_us < left_us then
    token_bucket.refund(key, row.interval_ms, row.limit, row.window_us, row.burst, cost, clock_us)
  end
end

return kind_gcra
