--- Whether an amount fits the budgets of a subject, and when it will.
--- @use charge_log spent_search
--- @lib budget_fit
local budget_fit = {}

-- Returns when excess_micros will have left a window. If that is over, some number is invalid.
local function room_us(bucket, state, row, excess_micros)
  local at_us = spent_search.room_us(bucket, state, row, excess_micros)
  if at_us <= state.now_us then
    state.corrupt_fields = state.corrupt_fields + 1
  end
  return at_us
end

-- Returns when a window or period is empty; a time that is over if nothing is spent.
local function empty_us(bucket, state, row)
  if row.spent_micros == 0 then
    return 0
  end
  local longest = row.window_us == state.longest_us and not row.start_us
  if longest and state.empty_us > state.now_us then
    return state.empty_us
  end
  local at_us = room_us(bucket, state, row, row.spent_micros)
  if longest then
    state.empty_us = at_us
  end
  return at_us
end

-- Returns how long until the limits' windows are empty, 0 if nothing is spent; or nil and a refusal. Of the windows that slide, the longest is
-- empty last.
function budget_fit.reset_us(bucket, state, windows, limits)
  local longest, last_us = nil, state.clock_us
  for i = 1, #limits do
    local row = windows[i]
    if row.start_us then
      last_us = math.max(last_us, empty_us(bucket, state, row))
    elseif not longest or row.window_us > longest.window_us then
      longest = row
    end
  end
  if longest then
    last_us = math.max(last_us, empty_us(bucket, state, longest))
  end
  if state.corrupt_fields > 0 then
    return nil, charge_log.refusal(bucket)
  end
  return last_us - state.clock_us
end

-- Returns a row: what is spent in a window, and what is left of a budget.
local function row_of(window, budget_micros)
  local spent_micros = window.spent_micros
  local left_micros = budget_micros - spent_micros
  if left_micros < 0 then
    left_micros = 0
  end
  return {allowed = true, spent_micros = spent_micros, remaining_micros = left_micros, retry_after_us = 0}
end

-- Returns the least that a row has left, at most most_micros.
function budget_fit.least_left(rows, most_micros)
  for i = 1, #rows do
    most_micros = math.min(most_micros, rows[i].remaining_micros)
  end
  return most_micros
end

-- Returns one row per limit.
function budget_fit.rows(windows, limits)
  local rows = {}
  for i = 1, #limits do
    rows[i] = row_of(windows[i], limits[i].budget_micros)
  end
  return rows
end

-- Checks whether an amount fits: the rows, with the wait of each; the longest wait; and 'none', 'budget', 'penalty', or
-- 'too_large' if the amount alone exceeds a budget. Or nil and a refusal.
function budget_fit.check(bucket, state, windows, limits, amount_micros)
  local rows, retry_us, reason = {nil, nil}, 0, 'none'
  if state.penalty_end_us > state.now_us then
    reason = 'penalty'
    retry_us = state.penalty_end_us - state.clock_us
  end
  for i = 1, #limits do
    local budget_micros, window = limits[i].budget_micros, windows[i]
    local row = row_of(window, budget_micros)
    rows[i] = row
    if amount_micros > budget_micros then
      row.allowed = false
      reason = 'too_large'
    elseif amount_micros > budget_micros - row.spent_micros then
      row.allowed = false
      row.retry_after_us = room_us(bucket, state, window, row.spent_micros - budget_micros + amount_micros) - state.clock_us
      retry_us = math.max(retry_us, row.retry_after_us)
      if reason == 'none' then
        reason = 'budget'
      end
    end
  end
  if state.corrupt_fields > 0 then
    return nil, charge_log.refusal(bucket)
  end
  if reason == 'too_large' then
    retry_us = 0
  end
  return rows, retry_us, reason
end

return budget_fit
