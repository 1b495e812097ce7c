--- Reserves an estimate if it fits every budget: all budgets are charged, or none.
---
--- A charge counts from now on, in each window for that window's length, but for at most hold until it is settled. Eight
--- different holds at a time are exact. While eight are open, a further one lasts as long as the next longer of them, or has no
--- hold. The same receipt again is allowed and charged nothing, whatever its estimate. This lasts for as long as it counts, and
--- after settlement for twice the longest window. A refused call writes nothing, so its receipt can be used again.
--- @use clock cost_reservation charge_store budget_fit
--- @key    bucket      hash[charges]       the subject's charges: whose money it is, never a session
--- @arg    receipt     text[256]           the request's own ID
--- @arg    estimate    micros[0..1000000000000000] expected cost of the request
--- @arg    limits      group[1..16]        budgets that are decided together
--- @arg    limits.budget micros[0..1000000000000000] most that may be spent in a window
--- @arg    limits.window duration[1us..3650d] length of the window
--- @arg    hold        duration[1us..3650d]? how long an unsettled estimate counts; each window's length when omitted
--- @arg    penalty     duration[1us..3650d]? how long reservations are refused once a settlement has exceeded a budget; none when omitted
--- @result allowed     bool                whether the estimate is reserved, by this call or by the receipt's first call
--- @result duplicate   bool                whether the receipt was charged before, so that this call charged nothing
--- @result reason      enum(none,budget,penalty,too_large) why it is refused; too_large: the estimate alone exceeds a budget
--- @result charged     micros              what the receipt costs now: its first estimate, or the settled amount; 0 when refused
--- @result retry_after duration            wait until the estimate fits, exact to the microsecond; 0 when it does, and when it never will
--- @result reset_after duration            wait until nothing counts in any window: the longest window right after a charge; 0 when nothing
---     does
--- @result limits      group               one row per limit
--- @result limits.allowed bool             whether the estimate fits this budget, or is already part of it
--- @result limits.spent micros             what is spent in the window after the call: 300000 of a budget of 1000000
--- @result limits.remaining micros         what is left of the budget: 700000; 0 when it is exceeded
--- @result limits.retry_after duration     wait until the estimate fits this budget; 0 when it does, and when it never will
--- @error  RLARG                           the subject's stored charges would exceed 2^53 - 1 micros
--- @error  RLSTATE                         a key holds data that this library did not write
local function reserve(bucket, receipt, estimate_micros, limits, hold_us, penalty_us)
  local state, rows, retry_us, reason, charge, windows = cost_reservation.check(bucket, receipt, estimate_micros, limits, clock.now_us())
  if not state then
    return nil, rows
  end
  local longest = budget_fit.longest(windows, limits)
  local reset_us, unreadable = 0, nil
  -- A charge without a hold is the last to leave.
  if reason ~= 'none' or hold_us or estimate_micros == 0 then
    reset_us, unreadable = budget_fit.reset_us(bucket, state, longest)
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
  local failure, end_us = cost_reservation.create(bucket, receipt, estimate_micros, state, rows, charge, hold_us, penalty_us)
  if failure then
    return nil, failure
  end
  if longest and estimate_micros > 0 then
    reset_us = math.max(reset_us, charge_store.leaves_us(longest, state.now_us, end_us) - state.clock_us)
  end
  return true, false, 'none', estimate_micros, 0, reset_us, rows
end
