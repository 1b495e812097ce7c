--- A gcra as a kind of limit.
--- @use token_bucket
--- @lib limit_gcra
local limit_gcra = {redis_type = 'string'}

function limit_gcra.prepare(row)
  row.timed = row.window_us % (row.limit * 1000) > 0
  row.weighs = true
  return row
end

function limit_gcra.judge(row, key, cost, clock_us)
  local allowed, left, wait_us, full_us, next_full_us, value = token_bucket.judge(key, row.limit, row.window_us, row.burst, cost, clock_us)
  if allowed == nil then
    return nil, left
  end
  if allowed then
    left = left + cost
  end
  return {
    allowed = allowed, remaining = left, reset_after_us = full_us, retry_after_us = wait_us, next_full_us = next_full_us, value = value,
  }
end

function limit_gcra.charge(_, key, cost, judged)
  judged.remaining = judged.remaining - cost
  judged.reset_after_us = judged.next_full_us or 0
  token_bucket.store(key, judged.reset_after_us, judged.value)
end

function limit_gcra.take(row, key, cost, clock_us)
  local allowed, left, full_us, wait_us = token_bucket.take(key, row.limit, row.window_us, row.burst, cost, clock_us)
  if allowed == nil then
    return nil, left
  end
  return {allowed = allowed, remaining = left, reset_after_us = full_us, retry_after_us = wait_us}
end

-- Gives back what was taken age_us ago, when the bucket was full after left_us.
function limit_gcra.give_back(row, key, cost, left_us, age_us, _, clock_us)
  if age_us < left_us then
    token_bucket.refund(key, row.limit, row.window_us, row.burst, cost, clock_us)
  end
end

return limit_gcra
