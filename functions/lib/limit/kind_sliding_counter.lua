--- A sliding_counter as a kind of limit.
--- @use counter_pair
--- @lib kind_sliding_counter
local kind_sliding_counter = {redis_type = 'string', needs_clock = false, weighted = true}

function kind_sliding_counter.check(row, key, cost, _, answer)
  local allowed, left, reset_us, wait_us, elapsed_ms, value, is_current = counter_pair.check(key, row.limit, row.window_ms, cost)
  answer.elapsed_ms = elapsed_ms
  answer.value = value
  answer.is_current = is_current
  return allowed, left, reset_us, wait_us
end

function kind_sliding_counter.charge(row, key, cost, _, answer)
  return counter_pair.charge(key, cost, row.window_ms, answer.elapsed_ms or 0, answer.value, answer.is_current)
end

-- Refunds what was charged age_us ago, when left_us remained until nothing counted: this window and the next.
function kind_sliding_counter.refund(row, key, cost, left_us, age_us)
  if age_us < left_us then
    counter_pair.refund(key, row.limit, row.window_ms, cost, left_us - row.window_ms * 1000 <= age_us)
  end
end

return kind_sliding_counter
