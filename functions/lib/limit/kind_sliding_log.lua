--- A sliding_log as a kind of limit.
--- @use window_log_write window_log
--- @lib kind_sliding_log
local kind_sliding_log = {redis_type = 'list', needs_clock = true, weighted = false}

function kind_sliding_log.check(row, key, cost, clock_us, answer)
  local allowed, left, reset_us, wait_us, _, now_us, retention, length, expired, oldest =
    window_log.check(key, row.limit, row.window_us, cost, clock_us)
  answer.now_us = now_us
  answer.retention = retention
  answer.length = length
  answer.expired = expired
  answer.oldest = oldest
  return allowed, left, reset_us, wait_us
end

function kind_sliding_log.charge(row, key, _, clock_us, answer)
  local window_us, now_us = row.window_us, answer.now_us or clock_us
  window_log_write.append(key, row.limit, window_us, clock_us, now_us, answer.retention, answer.length or 0, answer.expired or 0, answer.oldest or '')
  return window_us + now_us - clock_us
end

-- Removes the entry of the call that was decided at decided_us and whose reset_after was left_us.
function kind_sliding_log.refund(row, key, _, left_us, _, decided_us)
  window_log_write.remove(key, decided_us + left_us - row.window_us)
end

return kind_sliding_log
