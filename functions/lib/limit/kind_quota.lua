--- A quota as a kind of limit.
--- @use quota_count
--- @lib kind_quota
local kind_quota = {redis_type = 'string', needs_clock = true, weighted = true}

function kind_quota.prepare(row)
  row.boundaries = quota_count.boundaries(row.previous_us, row.start_us, row.start_us + row.window_us, row.after_us, true)
end

-- Reports whether a time is in one of the row's periods.
function kind_quota.covers(row, at_us)
  return row.boundaries[1] <= at_us and at_us < row.boundaries[4]
end

function kind_quota.check(row, key, cost, clock_us, answer)
  local allowed, left, left_us, wait_us, place, used, periods = quota_count.check(key, row.limit, row.boundaries, cost, clock_us)
  answer.place = place
  answer.used = used
  answer.periods = periods
  return allowed, left, left_us, wait_us
end

function kind_quota.charge(row, key, cost, clock_us, answer)
  return quota_count.charge(key, cost, row.boundaries, clock_us, answer.place or 1, answer.used or 0, answer.periods)
end

-- Refunds what was charged age_us ago, when the period had left_us left.
function kind_quota.refund(row, key, cost, left_us, age_us, _, clock_us)
  if age_us < left_us then
    quota_count.refund(key, row.limit, row.boundaries, cost, clock_us)
  end
end

return kind_quota
