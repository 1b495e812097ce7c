--- A sliding_counter as a kind of limit.
--- @use refusal window_pair
--- @lib limit_sliding_counter
local limit_sliding_counter = {redis_type = 'string'}

function limit_sliding_counter.prepare(row)
  if row.window_us > 7776000000000 then
    return nil, refusal.argument('window must be at most 90 days in a sliding_counter')
  end
  row.timed = false
  row.weighs = true
  return row
end

function limit_sliding_counter.judge(row, key, cost)
  local allowed, left, wait_us, reset_us, gone_ms, moved = window_pair.judge(key, row.limit, row.window_ms, cost)
  if allowed == nil then
    return nil, left
  end
  if allowed then
    left = left + cost
  end
  return {
    allowed = allowed, remaining = left, reset_after_us = reset_us, retry_after_us = wait_us, gone_ms = gone_ms, moved = moved,
  }
end

function limit_sliding_counter.charge(row, key, cost, judged)
  judged.remaining = judged.remaining - cost
  judged.reset_after_us = window_pair.charge(key, cost, row.window_ms, judged.gone_ms or 0, judged.moved)
end

function limit_sliding_counter.take(row, key, cost, clock_us)
  local judged, failure = limit_sliding_counter.judge(row, key, cost, clock_us)
  if not judged then
    return nil, failure
  end
  if judged.allowed and cost > 0 then
    limit_sliding_counter.charge(row, key, cost, judged, clock_us)
  end
  return judged
end

-- Gives back what was taken age_us ago, when left_us remained until all was forgotten: that is this window and the next.
function limit_sliding_counter.give_back(row, key, cost, left_us, age_us)
  if age_us < left_us then
    window_pair.refund(key, row.window_ms, cost, left_us - row.window_ms * 1000 <= age_us)
  end
end

return limit_sliding_counter
