--- Returns what is spent, what reserve would return for a new receipt, and the state of a receipt; writes nothing.
--- @use clock charge_store budget_fit account_budget
--- @flags  no-writes
--- @subject                    whose money it is: a stable identity, never a session
--- @key    bucket      hash[charges:<unit>] the subject's charges
--- @arg    limits      packed(account_budget)[1..16] budgets to report
--- @arg    estimate    micros[0..1000000000000000]=0 what would be reserved
--- @arg    receipt     text[256]?          receipt to report
--- @arg    unit        text[32]?           unit of the account: tokens; money when omitted
--- @must   limits.previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   limits.after be above now: the caller's clock is more than a period behind the server's
--- @result allowed     bool                whether the estimate would be reserved
--- @result reason      enum(none,budget,penalty,too_large) why it would be refused; too_large: the estimate alone exceeds a budget
--- @result status      enum(unknown,reserved,settled,lapsed) status of the receipt. lapsed: reserved, not settled, and no longer counted
--- @result charged     micros              what the receipt costs now: its estimate, or the settled amount; 0 when unknown, lapsed or
---     refused
--- @result retry_after duration            wait until the estimate fits, exact to the microsecond; 0 when it does, and when it never will
--- @result reset_after duration            wait until nothing counts in any window; 0 when nothing does
--- @result limits      group(account_budget)   one row per limit
--- @error  RLARG                           a budget's periods contradict each other, or do not contain the server's time
--- @error  RLSTATE                         a key holds data that this library did not write
local function peek(bucket, limits, estimate_micros, receipt, unit)
  local state, charge, windows = charge_store.open(bucket, receipt or '', limits, clock.now_us())
  if not state then
    return nil, charge
  end
  local status, charged_micros = 'unknown', 0
  if charge then
    status = charge.status
    charged_micros = charge.charged_micros
  end
  local rows, retry_us, reason = budget_fit.check(bucket, state, windows, limits, estimate_micros)
  if not rows then
    return nil, retry_us
  end
  local reset_us, failure = budget_fit.reset_us(bucket, state, windows, limits)
  if not reset_us then
    return nil, failure
  end
  return reason == 'none', reason, status, charged_micros, retry_us, reset_us, rows
end
