--- Replaces a receipt's estimate with the actual cost, once, however often it is called.
---
--- The actual cost is always recorded, even beyond the budget. A charge keeps the time of its reservation. If its hold
--- or window has ended, or nothing was reserved, the cost is charged as of now, so nothing is lost. A cost that exceeds
--- a budget starts the penalty that the bucket's last reservation set.
--- @use clock cost_reservation charge_store budget_fit account_budget
--- @subject                    whose money it is: a stable identity, never a session
--- @key    bucket      hash[charges:<unit>] the subject's charges
--- @arg    receipt     text[256]           receipt of the reservation
--- @arg    actual      micros[0..1000000000000000] actual cost
--- @arg    limits      packed(account_budget)[0..16] budgets to report and enforce; when omitted, those of the last calls are enforced and none is
---     reported
--- @arg    unit        text[32]?           unit of the account: tokens; money when omitted
--- @must   limits.previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   limits.after be above now: the caller's clock is more than a period behind the server's
--- @result outcome     enum(settled,repeated,late,unknown) what was done. repeated: nothing, it was already settled. late: charged now,
---     because the estimate no longer counted. unknown: charged now, because the receipt is not known
--- @result charged     micros              what the receipt costs now: actual, or the amount of its first settlement
--- @result exceeded    bool                whether any budget is exceeded now
--- @result penalty     duration            how long reservations are refused from now on; 0 without a penalty
--- @result limits      group               one row per given limit
--- @result limits.spent micros             what is spent in the window now: 1200000 of a budget of 1000000
--- @result limits.remaining micros         what is left of the budget; 0 when it is exceeded
--- @error  RLARG                           the subject's stored charges would exceed 2^53 - 1 micros
--- @error  RLSTATE                         a key holds data that this library did not write
local function settle(bucket, receipt, actual_micros, limits, unit)
  local outcome, charged_micros, state, windows = cost_reservation.settle(bucket, receipt, actual_micros, limits, clock.now_us())
  if not outcome then
    return nil, charged_micros
  end
  if outcome ~= 'repeated' then
    charge_store.store(bucket, state)
  end
  return outcome, charged_micros, charge_store.exceeded(state), cost_reservation.penalty_us(state), budget_fit.rows(windows, limits)
end
