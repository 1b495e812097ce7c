--- Checks, creates, settles and cancels reservations. What is created, settled or cancelled is written by charge_store.store.
--- @use clock charge_store budget_fit
--- @lib cost_reservation
local cost_reservation = {}

-- Checks a reservation of an estimate, and writes nothing. Returns the state; rows, wait and reason of budget_fit.check, or the
-- reason 'counted' if the receipt's charge counts, so that no other is created; that charge, or one that no longer counts, or
-- nil; and the limits' windows. Or nil and a refusal.
function cost_reservation.check(bucket, receipt, estimate_micros, limits, clock_us)
  local state, charge, windows = charge_store.open(bucket, receipt, limits, clock_us)
  if not state then
    return nil, charge
  end
  if charge and (charge.status == 'reserved' or charge.status == 'settled') then
    return state, budget_fit.rows(windows, limits), 0, 'counted', charge, windows
  end
  local rows, retry_us, reason = budget_fit.check(bucket, state, windows, limits, estimate_micros)
  if not rows then
    return nil, retry_us
  end
  return state, rows, retry_us, reason, charge, windows
end

-- Charges an estimate that fits, in place of a charge that no longer counts, or nil, and updates the rows. Returns nil and when
-- its hold ends, 0 without one; or a refusal.
function cost_reservation.create(bucket, receipt, estimate_micros, state, rows, old, hold_us, penalty_us)
  state.penalty_us = penalty_us or 0
  local failure, end_us = charge_store.create(bucket, state, old, 'open', estimate_micros, hold_us or 0, receipt)
  if failure then
    return failure
  end
  for i = 1, #rows do
    local row = rows[i]
    row.spent_micros = row.spent_micros + estimate_micros
    row.remaining_micros = row.remaining_micros - estimate_micros
  end
  return nil, end_us
end

-- Returns when a new charge leaves the last of the limits' windows.
local function last_us(windows, limits, now_us, end_us)
  local leaves_us = 0
  for i = 1, #limits do
    leaves_us = math.max(leaves_us, charge_store.leaves_us(windows[i], now_us, end_us))
  end
  return leaves_us
end

-- Reserves as much as every budget has left, at least least_micros and at most most_micros. Returns allowed, duplicate, reason, what is
-- charged, the two waits and the rows; or nil and a refusal.
function cost_reservation.reserve(bucket, receipt, least_micros, most_micros, limits, hold_us, penalty_us)
  local state, rows, retry_us, reason, charge, windows = cost_reservation.check(bucket, receipt, least_micros, limits, clock.now_us())
  if not state then
    return nil, rows
  end
  local reset_us, unreadable = 0, nil
  -- A charge without a hold is the last to leave.
  if reason ~= 'none' or hold_us or most_micros == 0 then
    reset_us, unreadable = budget_fit.reset_us(bucket, state, windows, limits)
    if not reset_us then
      return nil, unreadable
    end
  end
  if reason == 'counted' then
    return true, true, 'none', charge.charged_micros, 0, reset_us, rows
  end
  if reason ~= 'none' then
    return false, false, reason, 0, retry_us, reset_us, rows
  end
  local micros = least_micros
  if most_micros > least_micros then
    micros = budget_fit.least_left(rows, most_micros)
  end
  local failure, end_us = cost_reservation.create(bucket, receipt, micros, state, rows, charge, hold_us, penalty_us)
  if failure then
    return nil, failure
  end
  charge_store.store(bucket, state)
  if micros > 0 then
    reset_us = math.max(reset_us, last_us(windows, limits, state.now_us, end_us) - state.clock_us)
  end
  return true, false, 'none', micros, 0, reset_us, rows
end

-- Replaces what a receipt reserved by what was really spent. Returns settled, repeated, late or unknown; what the receipt costs now; the state;
-- and a table that begins with the limits' windows. There is nothing to store if it was repeated. Or nil and a refusal.
function cost_reservation.settle(bucket, receipt, actual_micros, limits, clock_us)
  local state, charge, windows = charge_store.open(bucket, receipt, limits, clock_us)
  if not state then
    return nil, charge
  end
  local outcome, failure = 'unknown', nil
  if charge and charge.status == 'settled' then
    return 'repeated', charge.charged_micros, state, windows
  elseif charge and charge.status == 'reserved' then
    outcome = 'settled'
    failure = charge_store.update(bucket, state, charge, 'settled', actual_micros)
  else
    if charge and charge.status == 'lapsed' then
      outcome = 'late'
    end
    failure = charge_store.create(bucket, state, charge, 'settled', actual_micros, 0, receipt)
  end
  if failure then
    return nil, failure
  end
  return outcome, actual_micros, state, windows
end

-- Returns how long reservations are refused from now on.
function cost_reservation.penalty_us(state)
  if state.penalty_end_us > state.now_us then
    return state.penalty_end_us - state.clock_us
  end
  return 0
end

-- Refunds what a receipt reserved. Returns cancelled, settled, lapsed or unknown, the refunded amount, and the state if there is something to
-- store; or nil and a refusal.
function cost_reservation.cancel(bucket, receipt, clock_us)
  local state, charge = charge_store.open(bucket, receipt, {}, clock_us)
  if not state then
    return nil, charge
  elseif not charge then
    return 'unknown', 0
  end
  if charge.status ~= 'reserved' then
    return charge.status, 0
  end
  local failure = charge_store.update(bucket, state, charge, 'gone', 0)
  if failure then
    return nil, failure
  end
  return 'cancelled', charge.charged_micros, state
end

return cost_reservation
