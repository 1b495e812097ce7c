--- Whether an amount fits the budgets of a subject, and when it will.
--- @use charge_log
--- @lib budget
local budget = {}

-- The first hold that ends after a time and frees a charge of the window that has not left it by number, or nil.
local function next_hold(bucket, holds, state, skip, number)
  while true do
    local found = redis.call('ZRANGEBYSCORE', holds, string.format('(%.0f', state.now_us), '+inf', 'WITHSCORES', 'LIMIT', skip, 1) -- rlfunc:ignore key-loop holds that have to end
    if not found[1] then
      return nil, skip
    end
    skip = skip + 1
    local held, end_us = tonumber(found[1]), tonumber(found[2])
    if held and end_us and held >= number then
      local _, amount_micros = charge_log.parse(redis.call('HGET', bucket, found[1])) -- rlfunc:ignore key-loop as above
      return {number = held, end_us = end_us, amount_micros = amount_micros or 0}, skip
    end
  end
end

-- When excess_micros or more will have left the window, if nothing else happens: charges leave in their order, and those
-- whose hold ends before that leave then. Or nil and a refusal.
function budget.room_us(bucket, holds, state, row, excess_micros)
  local room_us
  local gone = {}
  local hold, skip = nil, 0
  if state.lapse_us > 0 then
    hold, skip = next_hold(bucket, holds, state, skip, row.head)
  end
  local failure = charge_log.each(bucket, state, row.head, 1, function(number, time_us, amount_micros)
    local leave_us = time_us + row.window_us
    while hold and hold.end_us <= leave_us do
      if hold.number >= number then
        gone[hold.number] = true
        excess_micros = excess_micros - hold.amount_micros
        if excess_micros <= 0 then
          room_us = hold.end_us
          return true
        end
      end
      hold, skip = next_hold(bucket, holds, state, skip, number)
    end
    if not gone[number] then
      excess_micros = excess_micros - amount_micros
      if excess_micros <= 0 then
        room_us = leave_us
        return true
      end
    end
    return false
  end)
  if room_us then
    return room_us
  end
  return nil, failure or charge_log.refusal(bucket)
end

-- The longest of the limits' windows, or nil.
function budget.longest(windows, limits)
  local longest
  for i = 1, #limits do
    local row = windows[i]
    if row and (not longest or row.window_us > longest.window_us) then
      longest = row
    end
  end
  return longest
end

-- When the last charge that costs anything will have left a window; or nil and a refusal.
local function find_empty_us(bucket, state, row)
  local last_us, number, size = 0, state.next - 1, 2
  while number >= row.head do
    size = math.min(size, number - row.head + 1)
    local page = charge_log.page(bucket, number - size + 1, size) -- rlfunc:ignore key-loop ends at the newest charge that costs anything
    for i = size, 1, -1 do
      local time_us, amount_micros, end_us, kind = charge_log.parse(page[i])
      if not time_us then
        return nil, charge_log.refusal(bucket)
      end
      if time_us + row.window_us <= last_us then
        return last_us
      end
      if amount_micros > 0 and not state.lapsed[number - size + i] then
        if kind ~= 'open' then
          end_us = 0
        end
        last_us = math.max(last_us, charge_log.leaves_us(row, time_us, end_us))
      end
    end
    number = number - size
    size = math.min(size * 4, 128)
  end
  return last_us
end

-- How long until a window is empty, 0 when nothing is spent; or nil and a refusal.
function budget.reset_us(bucket, state, row)
  if not row or row.spent_micros == 0 then
    return 0
  end
  local longest = row.window_us == state.longest_us
  if longest and state.empty_us > 0 then
    return state.empty_us - state.clock_us
  end
  local empty_us, failure = find_empty_us(bucket, state, row)
  if not empty_us then
    return nil, failure
  end
  if longest then
    state.empty_us = empty_us
  end
  return empty_us - state.clock_us
end

-- What is spent in a window, and what is left of a budget.
local function row_of(window, budget_micros)
  local spent_micros = window.spent_micros
  local left_micros = budget_micros - spent_micros
  if left_micros < 0 then
    left_micros = 0
  end
  return {allowed = true, spent_micros = spent_micros, remaining_micros = left_micros, retry_after_us = 0}
end

-- One row for each limit.
function budget.rows(windows, limits)
  local rows = {}
  for i = 1, #limits do
    rows[i] = row_of(windows[i], limits[i].budget_micros)
  end
  return rows
end

-- Whether the amount fits: the rows, with the wait of each; the greatest wait; and 'none', 'budget', 'penalty', or
-- 'too_large' where it exceeds a whole budget and no wait helps. Or nil and a refusal.
function budget.judge(bucket, holds, state, windows, limits, amount_micros)
  local rows, retry_us, reason = {}, 0, 'none'
  if state.barred_us > state.now_us then
    reason = 'penalty'
    retry_us = state.barred_us - state.clock_us
  end
  for i = 1, #limits do
    local budget_micros, window = limits[i].budget_micros, windows[i]
    local row = row_of(window, budget_micros)
    rows[i] = row
    if amount_micros > budget_micros then
      row.allowed = false
      reason = 'too_large'
    elseif amount_micros > budget_micros - row.spent_micros then
      local room_us, failure = budget.room_us(bucket, holds, state, window, row.spent_micros - budget_micros + amount_micros)
      if not room_us then
        return nil, failure
      end
      row.allowed = false
      row.retry_after_us = room_us - state.clock_us
      retry_us = math.max(retry_us, row.retry_after_us)
      if reason == 'none' then
        reason = 'budget'
      end
    end
  end
  if reason == 'too_large' then
    retry_us = 0
  end
  return rows, retry_us, reason
end

return budget
