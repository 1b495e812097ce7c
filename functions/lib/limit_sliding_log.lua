--- A sliding_log as a kind of limit.
--- @use log_entry refusal window_log
--- @lib limit_sliding_log
local limit_sliding_log = {redis_type = 'list'}

function limit_sliding_log.prepare(row)
  if row.cost > 1 then
    return nil, refusal.argument('cost must be 0 or 1 in a sliding_log: it counts requests')
  end
  row.timed = true
  row.weighs = false
  return row
end

function limit_sliding_log.judge(row, key, cost, clock_us, answer)
  local limit, window_us = row.limit, row.window_us
  local now_us, count, newest_us, oldest_us, need, length, expired, oldest = window_log.read(key, window_us, clock_us)
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
  answer.need = need
  answer.length = length
  answer.expired = expired
  answer.oldest = oldest
  return true, limit - count, reset_us, 0
end

function limit_sliding_log.charge(row, key, _, clock_us, answer)
  local window_us, now_us = row.window_us, answer.now_us or clock_us
  log_entry.append(key, row.limit, window_us, clock_us, now_us, answer.need, answer.length or 0, answer.expired or 0, answer.oldest or '')
  answer.remaining = answer.remaining - 1
  answer.reset_after_us = window_us + now_us - clock_us
end

-- Takes out the entry of the call that was decided at decided_us, and whose answer was that the log would be empty after left_us.
function limit_sliding_log.give_back(row, key, _, left_us, _, decided_us)
  log_entry.remove(key, decided_us + left_us - row.window_us)
end

return limit_sliding_log
