--- Reservations: judged before anything is written, made, and cancelled.
--- @use spending charging budget
--- @lib reserving
local reserving = {}

-- Judges a reservation of an estimate within the limits, and writes nothing. Returns the state; what budget.judge tells, rows,
-- wait and reason, or 'held' where the receipt's charge counts, so that no other is made; that charge, or one that
-- counts no more, or nil; and the limits' windows. Or nil and a refusal.
function reserving.judge(bucket, receipt, estimate_micros, limits, clock_us)
  local state, field, windows = spending.open(bucket, receipt, limits, clock_us)
  if not state then
    return nil, field
  end
  local charge, unreadable = charging.find(bucket, state, field)
  if unreadable then
    return nil, unreadable
  end
  if charge and (charge.status == 'reserved' or charge.status == 'settled') then
    return state, budget.rows(windows, limits), 0, 'held', charge, windows
  end
  local rows, retry_us, reason = budget.judge(bucket, state, windows, limits, estimate_micros)
  if not rows then
    return nil, retry_us
  end
  return state, rows, retry_us, reason, charge, windows
end

-- Charges the estimate that was judged to fit, in place of a charge that counts no more, or nil, and brings the rows to the state
-- after it. Returns nil and when its hold ends, 0 without one; or a refusal.
function reserving.make(bucket, receipt, estimate_micros, state, rows, old, hold_us, penalty_us)
  state.penalty_us = penalty_us or 0
  local failure, end_us = charging.make(bucket, state, old, 'open', estimate_micros, hold_us or 0, receipt)
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

-- Gives back what a receipt has reserved. Returns cancelled, settled, lapsed or unknown, and what was given back; or nil and
-- a refusal, and then nothing is written.
function reserving.cancel(bucket, receipt, clock_us)
  local state, field = spending.open(bucket, receipt, {}, clock_us)
  if not state then
    return nil, field
  end
  local charge, failure = charging.find(bucket, state, field)
  if failure then
    return nil, failure
  end
  if not charge then
    return 'unknown', 0
  end
  if charge.status ~= 'reserved' then
    return charge.status, 0
  end
  failure = charging.change(bucket, state, charge, 'gone', 0)
  if failure then
    return nil, failure
  end
  return 'cancelled', charge.charged_micros
end

return reserving
