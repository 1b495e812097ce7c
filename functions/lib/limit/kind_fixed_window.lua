--- A fixed_window as a kind of limit.
--- @use fixed_window_count
--- @lib kind_fixed_window
local kind_fixed_window = {redis_type = 'string'}

function kind_fixed_window.prepare(row)
  row.needs_clock = false
  row.weighted = true
  return row
end

function kind_fixed_window.check(row, key, cost, _, answer)
  local allowed, left, wait_us, end_us, windows = fixed_window_count.check(key, row.limit, row.window_ms, cost)
  if allowed == nil then
    return nil, left
  end
  answer.windows = windows
  if allowed then
    left = left + cost
  end
  return allowed, left, end_us, wait_us
end

function kind_fixed_window.charge(row, key, cost, _, answer)
  answer.remaining = answer.remaining - cost
  answer.reset_after_us = fixed_window_count.charge(key, cost, row.window_ms, answer.reset_after_us, answer.windows)
end

-- Refunds what was charged age_us ago, when the window had left_us left.
function kind_fixed_window.refund(row, key, cost, left_us, age_us)
  if age_us < left_us then
    fixed_window_count.refund(key, row.window_ms, cost)
  end
end

return kind_fixed_window
