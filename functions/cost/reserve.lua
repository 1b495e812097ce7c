--- Reserves an estimate if it fits every budget beside what is spent; all budgets are charged, or none.
---
--- A charge counts from now on, in each window for that window's length, and at most for hold as long as it is not settled.
--- Eight different holds at a time are exact; while eight are open a further one is as long as the next longer of them, or none.
--- The same receipt again is allowed and charged nothing, whatever its estimate: as long as it counts, and once it is
--- settled for twice the longest window. A refused call writes nothing, so its receipt is judged anew.
--- @use clock reserving charging budget
--- @key    bucket      hash[charges]       the subject's charges: whose money it is, never a session
--- @arg    receipt     text[256]           the request's own ID
--- @arg    estimate    micros[0..1000000000000000] what the request will cost, as far as one knows
--- @arg    limits      group[1..16]        budgets that are decided together
--- @arg    limits.budget micros[0..1000000000000000] most that may be spent in a window
--- @arg    limits.window duration[1us..3650d] length of the window
--- @arg    hold        duration[1us..3650d]? how long the estimate counts if it is not settled; each window's length when absent
--- @arg    penalty     duration[1us..3650d]? how long nothing is reserved once a settlement has exceeded a budget; none when absent
--- @result allowed     bool                whether the estimate is reserved, now or by the receipt's first call
--- @result duplicate   bool                whether the receipt was charged before, so that this call charged nothing
--- @result reason      enum(none,budget,penalty,too_large) why it is refused; too_large: the estimate exceeds a whole budget
--- @result charged     micros              what the receipt costs now: its first estimate, or what was settled; 0 when refused
--- @result retry_after duration            wait until the estimate fits, exact to the microsecond; 0 when allowed, and when
---     it is too large to fit ever
--- @result reset_after duration            wait until nothing is spent in any of the windows: the longest window right after a charge; 0 when nothing is
--- @result limits      group               one row for each limit
--- @result limits.allowed bool             whether the estimate fits this budget, or is in it
--- @result limits.spent micros             what is spent in the window after the call: 300000 of a budget of 1000000
--- @result limits.remaining micros         what is left of the budget: 700000; 0 when it is exceeded
--- @result limits.retry_after duration     wait until the estimate fits this budget; 0 when it does, and when it never will
--- @error  RLARG                           more than 2^53 - 1 micros would be kept of the subject
--- @error  RLSTATE                         a key holds what is no charge or no state of charges
local function reserve(bucket, receipt, estimate_micros, limits, hold_us, penalty_us)
  local state, rows, retry_us, reason, charge, windows = reserving.judge(bucket, receipt, estimate_micros, limits, clock.now_us())
  if not state then
    return nil, rows
  end
  local longest = budget.longest(windows, limits)
  local reset_us, unreadable = 0, nil
  -- A charge without a hold leaves last.
  if reason ~= 'none' or hold_us or estimate_micros == 0 then
    reset_us, unreadable = budget.reset_us(bucket, state, longest)
    if not reset_us then
      return nil, unreadable
    end
  end
  if reason == 'held' then
    return true, true, 'none', charge.charged_micros, 0, reset_us, rows
  end
  if reason ~= 'none' then
    return false, false, reason, 0, retry_us, reset_us, rows
  end
  local failure, end_us = reserving.make(bucket, receipt, estimate_micros, state, rows, charge, hold_us, penalty_us)
  if failure then
    return nil, failure
  end
  if longest and estimate_micros > 0 then
    reset_us = math.max(reset_us, charging.leaves_us(longest, state.now_us, end_us) - state.clock_us)
  end
  return true, false, 'none', estimate_micros, 0, reset_us, rows
end
