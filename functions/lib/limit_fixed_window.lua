--- A fixed_window as a kind of limit.
--- @use window_count
--- @lib limit_fixed_window
local limit_fixed_window = {redis_type = 'string'}

function limit_fixed_window.prepare(row)
  row.timed = false
  row.weighs = true
  return row
end

function limit_fixed_window.judge(row, key, cost)
  local allowed, left, wait_us, end_us, windows = window_count.judge(key, row.limit, row.window_ms, cost)
  if allowed == nil then
    return nil, left
  end
  if allowed then
    left = left + cost
  end
  return {allowed = allowed, remaining = left, reset_after_us = end_us, retry_after_us = wait_us, windows = windows}
end

function limit_fixed_window.charge(row, key, cost, judged)
  judged.remaining = judged.remaining - cost
  judged.reset_after_us = window_count.charge(key, cost, row.window_ms, judged.reset_after_us, judged.windows)
end

function limit_fixed_window.take(row, key, cost, clock_us)
  local judged, failure = limit_fixed_window.judge(row, key, cost, clock_us)
  if not judged then
    return nil, failure
  end
  if judged.allowed and cost > 0 then
    limit_fixed_window.charge(row, key, cost, judged, clock_us)
  end
  return judged
end

-- Gives back what was taken age_us ago, when the window had left_us left.
function limit_fixed_window.give_back(row, key, cost, left_us, age_us)
  if age_us < left_us then
    window_count.refund(key, row.window_ms, cost)
  end
end

return limit_fixed_window
