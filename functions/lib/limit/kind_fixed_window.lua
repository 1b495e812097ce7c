--- A fixed_window as a kind of limit.
--- @use fixed_window_count
--- @lib kind_fixed_window
local kind_fixed_window = {redis_type = 'string', needs_clock = false, weighted = true}

function kind_fixed_window.check(row, key, cost, _, answer)
  local allowed, left, reset_us, wait_us, windows = fixed_window_count.check(key, row.limit, row.window_ms, cost)
  answer.windows = windows
  return allowed, left, reset_us, wait_us
end

function kind_fixed_window.charge(row, key, cost, _, answer)
  return fixed_window_count.charge(key, cost, row.window_ms, answer.reset_after_us, answer.windows)
end

-- Refunds what was charged age_us ago, when the window had left_us left.
function kind_fixed_window.refund(row, key, cost, left_us, age_us)
  if age_us < left_us then
    fixed_window_count.refund(key, row.limit, row.window_ms, cost)
  end
end

return kind_fixed_window
