--- A sliding counter as a kind of limit: the use of this window, and of the previous one in proportion to its part that still lies in
--- the last window's length.
---
--- The key expires two windows after this one began, so its expiry says how far this one has gone. If the clock is set back, a window
--- that begins in the future counts as if it began now, and the previous one in full.
--- @use clock refusal whole_number window_weight
--- @lib counter_pair
--- @state sliding_counter 1 '<use of the previous window> <use of this one>': '7 3'; the key expires two windows after this one began
local counter_pair = {redis_type = 'string', weighted = true}

function counter_pair.prepare(row)
  row.window_ms = math.ceil(row.window_us / 1000)
end

-- Reads into the answer the use of the previous window and of this one, how far this one has gone, and whether the key is of an earlier
-- one. Returns nothing or a refusal.
local function read(row, key, answer)
  answer.before = 0
  answer.current = 0
  answer.elapsed_ms = 0
  answer.begins = true
  local stored = redis.call('GET', key)
  if not stored then
    return nil
  end
  local before, current = string.match(stored, '^(%d+) (%d+)$')
  before = before and (before == '0' and 0 or whole_number.parse(before))
  current = current and (current == '0' and 0 or whole_number.parse(current))
  local left_ms = clock.left_ms(key)
  if not before or not current or left_ms == -1 then
    return refusal.state(key, 'holds no pair of counts that expires')
  end
  local elapsed_ms = 2 * row.window_ms - left_ms
  if left_ms <= 0 or clock.is_wrong(-elapsed_ms * 1000, row.window_ms * 1000) then
    return nil
  end
  answer.begins = elapsed_ms >= row.window_ms
  if answer.begins then
    answer.before = current
    answer.elapsed_ms = elapsed_ms - row.window_ms
  else
    answer.before = before
    answer.current = current
    answer.elapsed_ms = elapsed_ms
  end
end

local function reset_after_us(row, answer)
  if answer.current > 0 then
    return (2 * row.window_ms - answer.elapsed_ms) * 1000
  end
  return answer.before > 0 and (row.window_ms - answer.elapsed_ms) * 1000 or 0
end

function counter_pair.check(row, key, cost, _, answer)
  local failure = read(row, key, answer)
  if failure then
    return failure
  end
  local left = row.limit - answer.current - window_weight.of(row, answer.before, answer.elapsed_ms)
  answer.allowed = cost <= left
  answer.remaining = math.max(left, 0)
  answer.reset_after_us = reset_after_us(row, answer)
  answer.retry_after_us = 0
  if not answer.allowed and answer.current + cost <= row.limit then
    answer.retry_after_us = (window_weight.fits_at(row, answer.before, row.limit - answer.current - cost) - answer.elapsed_ms) * 1000
  elseif not answer.allowed then
    answer.retry_after_us = (row.window_ms - answer.elapsed_ms + window_weight.fits_at(row, answer.current, row.limit - cost)) * 1000
  end
end

-- Stores the answer's counts.
local function store(row, key, answer)
  local value = string.format('%d %d', answer.before, answer.current)
  if answer.begins then
    clock.store(key, value, 2 * row.window_ms - answer.elapsed_ms)
  else
    redis.call('SET', key, value, 'KEEPTTL')
  end
  answer.reset_after_us = reset_after_us(row, answer)
end

function counter_pair.charge(row, key, cost, _, answer)
  answer.current = answer.current + cost
  store(row, key, answer)
end

-- Refunds what was charged in this window or, from the window's end on, in the previous one.
function counter_pair.refund(row, key, cost, now_us, until_us)
  local answer = {}
  if read(row, key, answer) then
    return false
  end
  local back = math.min(answer.current, cost)
  if until_us and now_us >= until_us - row.window_ms * 1000 then
    back = 0
  end
  local back_before = math.min(answer.before, cost - back)
  answer.current = answer.current - back
  answer.before = answer.before - back_before
  if back + back_before == 0 then
    return false
  elseif answer.current + answer.before == 0 then
    redis.call('DEL', key)
  else
    store(row, key, answer)
  end
  return true
end

return counter_pair
