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

function limit_sliding_counter.judge(row, key, cost, _, answer)
  local allowed, left, wait_us, reset_us, gone_ms, moved = window_pair.judge(key, row.limit, row.window_ms, cost)
  if allowed == nil then
    return nil, left
  end
  answer.gone_ms = gone_ms
  answer.moved = moved
  if allowed then
    left = left + cost
  end
  return allowed, left, reset_us, wait_us
end

function limit_sliding_counter.charge(row, key, cost, _, answer)
  answer.remaining = answer.remaining - cost
  answer.reset_after_us = window_pair.charge(key, cost, row.window_ms, answer.gone_ms or 0, answer.moved)
end

-- Gives back what was taken age_us ago, when left_us remained until all was forgotten: that is this window and the next.
function limit_sliding_counter.give_back(row, key, cost, left_us, age_us)
  if age_us < left_us then
    window_pair.refund(key, row.window_ms, cost, left_us - row.window_ms * 1000 <= age_us)
  end
end

return limit_sliding_counter
