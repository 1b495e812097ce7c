--- A sliding_log as a kind of limit.
--- @use window_log_write window_log
--- @lib kind_sliding_log
local kind_sliding_log = {redis_type = 'list'}

function kind_sliding_log.prepare(row)
  row.needs_clock = true
  row.weighted = false
  return row
end

function kind_sliding_log.check(row, key, cost, clock_us, answer)
  local limit, window_us = row.limit, row.window_us
  local now_us, count, newest_us, oldest_us, retention, length, expired, oldest = window_log.read(key, window_us, clock_us)
  if not now_us then
    return nil, count
  end
  local reset_us = 0
  if count > 0 then
    reset_us = newest_us + window_us - clock_us
  end
  if count + cost > limit then
    local room_us, unreadable = window_log.room_us(key, limit + 1 - cost, window_us, count, oldest_us)
    if not room_us then
      return nil, unreadable
    end
    return false, math.max(limit - count, 0), reset_us, room_us - clock_us
  end
  answer.now_us = now_us
  answer.retention = retention
  answer.length = length
  answer.expired = expired
  answer.oldest = oldest
  return true, limit - count, reset_us, 0
end

function kind_sliding_log.charge(row, key, _, clock_us, answer)
  local window_us, now_us = row.window_us, answer.now_us or clock_us
  window_log_write.append(key, row.limit, window_us, clock_us, now_us, answer.retention, answer.length or 0, answer.expired or 0, answer.oldest or '')
  answer.remaining = answer.remaining - 1
  answer.reset_after_us = window_us + now_us - clock_us
end

-- Removes the entry of the call that was decided at decided_us and whose reset_after was left_us.
function kind_sliding_log.refund(row, key, _, left_us, _, decided_us)
  window_log_write.remove(key, decided_us + left_us - row.window_us)
end

return kind_sliding_log
