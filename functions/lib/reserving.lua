--- Reservations: judged before anything is written, made, and cancelled.
--- @use spending charging budget
--- @lib reserving
local reserving = {}

-- Judges a reservation of an estimate within the limits, and writes nothing. Returns a table: held, whether the receipt's
-- charge counts, so that no other is made; that charge or nil; what budget.judge tells, reason, retry_us and rows; and the
-- state. Or nil and a refusal.
function reserving.judge(bucket, holds, receipt, estimate_micros, limits, clock_us)
  local state, number = spending.open(bucket, holds, receipt, limits, clock_us)
  if not state then
    return nil, number
  end
  local charge, unreadable = charging.find(bucket, state, number)
  if unreadable then
    return nil, unreadable
  end
  if charge and charge.status ~= 'lapsed' then
    return {held = true, charge = charge, reason = 'none', retry_us = 0, rows = budget.rows(limits), state = state}
  end
  local rows, retry_us, reason = budget.judge(bucket, holds, state, limits, estimate_micros)
  if not rows then
    return nil, retry_us
  end
  return {held = false, charge = charge, reason = reason, retry_us = retry_us, rows = rows, state = state}
end

-- Charges the estimate that was judged to fit, unless it is held, and brings the rows to the state after it. Returns a refusal
-- or nil.
function reserving.make(bucket, holds, receipt, estimate_micros, judged, hold_us, penalty_us)
  local state, rows, end_us = judged.state, judged.rows, 0
  if judged.held or not state then
    return nil
  end
  state.penalty_us = penalty_us or 0
  if hold_us then
    end_us = state.now_us + hold_us
  end
  local failure = charging.make(bucket, holds, state, judged.charge, 'open', estimate_micros, end_us, receipt)
  if failure then
    return failure
  end
  for i = 1, #rows do
    rows[i].spent_micros = rows[i].spent_micros + estimate_micros
    rows[i].remaining_micros = rows[i].remaining_micros - estimate_micros
  end
  return nil
end

-- Gives back what a receipt has reserved. Returns cancelled, settled, lapsed or unknown, and what was given back; or nil and
-- a refusal, and then nothing is written.
function reserving.cancel(bucket, holds, receipt, clock_us)
  local state, number = spending.open(bucket, holds, receipt, {}, clock_us)
  if not state then
    return nil, number
  end
  local charge, failure = charging.find(bucket, state, number)
  if failure then
    return nil, failure
  end
  if not charge then
    return 'unknown', 0
  end
  if charge.status ~= 'reserved' then
    return charge.status, 0
  end
  failure = charging.change(bucket, holds, state, charge, 'gone', 0)
  if failure then
    return nil, failure
  end
  return 'cancelled', charge.amount_micros
end

return reserving
