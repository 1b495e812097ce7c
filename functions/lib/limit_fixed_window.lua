--- A fixed_window as a kind of limit.
--- @use window_count
--- @lib limit_fixed_window
local limit_fixed_window = {redis_type = 'string'}

function limit_fixed_window.prepare(row)
  row.timed = false
  row.weighs = true
  return row
end

function limit_fixed_window.judge(row, key, cost, _, answer)
  local allowed, left, wait_us, end_us, windows = window_count.judge(key, row.limit, row.window_ms, cost)
  if allowed == nil then
    return nil, left
  end
  answer.windows = windows
  if allowed then
    left = left + cost
  end
  return allowed, left, end_us, wait_us
end

function limit_fixed_window.charge(row, key, cost, _, answer)
  answer.remaining = answer.remaining - cost
  answer.reset_after_us = window_count.charge(key, cost, row.window_ms, answer.reset_after_us, answer.windows)
end

-- Gives back what was taken age_us ago, when the window had left_us left.
function limit_fixed_window.give_back(row, key, cost, left_us, age_us)
  if age_us < left_us then
    window_count.refund(key, row.window_ms, cost)
  end
end

return limit_fixed_window
