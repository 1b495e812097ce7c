--- A fixed window as a kind of limit: a count in a key that expires when the window ends.
---
--- The first charge begins a window. If the clock is set back, the window lasts that much longer.
--- @use clock refusal whole_number
--- @lib window_count
--- @state fixed_window 1 what was charged: '7'; the key expires when the window ends
local window_count = {redis_type = 'string', weighted = true}

function window_count.prepare(row)
  row.window_ms = math.ceil(row.window_us / 1000)
end

-- Returns what was charged and the time until the window ends, 0 and 0 if none is active; or nil and a refusal.
local function read(row, key)
  local stored = redis.call('GET', key)
  if not stored then
    return 0, 0
  end
  local used, left_ms = whole_number.parse(stored), clock.left_ms(key)
  if not used or left_ms == -1 then
    return nil, refusal.state(key, 'holds no count that expires')
  end
  local left_us = left_ms * 1000
  if left_us <= 0 or clock.is_wrong(left_us - row.window_ms * 1000, row.window_ms * 1000) then
    return 0, 0
  end
  return used, left_us
end

function window_count.check(row, key, cost, _, answer)
  local used, left_us = read(row, key)
  if not used then
    return left_us
  end
  answer.allowed = used + cost <= row.limit
  answer.remaining = used < row.limit and row.limit - used or 0
  answer.reset_after_us = left_us
  answer.retry_after_us = answer.allowed and 0 or left_us
end

function window_count.charge(row, key, cost, _, answer)
  if answer.reset_after_us > 0 then
    redis.call('INCRBY', key, whole_number.text(cost))
  else
    clock.store_for(key, whole_number.text(cost), row.window_us)
    answer.reset_after_us = row.window_ms * 1000
  end
end

function window_count.refund(row, key, cost)
  local used = read(row, key)
  if not used or used == 0 then
    return false
  elseif used <= cost then
    redis.call('DEL', key)
  else
    redis.call('DECRBY', key, whole_number.text(cost))
  end
  return true
end

return window_count
