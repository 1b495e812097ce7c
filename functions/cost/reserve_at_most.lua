--- Reserves as much as is left of every budget, up to most: for work whose size is chosen by what is left, such as a long answer.
---
--- It is reserve with the estimate that fits. Settle the receipt with what was used.
--- @use cost_reservation refusal
--- @subject                    whose money it is: a stable identity, never a session
--- @key    bucket      hash[charges]       the subject's charges: whose money it is, never a session
--- @arg    receipt     text[256]           the request's own ID
--- @arg    most        micros[1..1000000000000000] most to reserve
--- @arg    limits      group[1..16]        budgets that are decided together
--- @arg    limits.budget micros[0..1000000000000000] most that may be spent in a window
--- @arg    limits.window duration[1us..3650d] length of the window
--- @arg    least       micros[1..1000000000000000]=1 least that is of use: less than that is refused
--- @arg    hold        duration[1us..3650d]? how long an unsettled reservation counts; each window's length when omitted
--- @arg    penalty     duration[1us..3650d]? how long reservations are refused once a settlement has exceeded a budget; none when omitted
--- @must   least be at most most
--- @result allowed     bool                whether anything is reserved, by this call or by the receipt's first call
--- @result duplicate   bool                whether the receipt was charged before, so that this call charged nothing
--- @result reason      enum(none,budget,penalty,too_large) why it is refused; too_large: least alone exceeds a budget
--- @result charged     micros              what the receipt costs now: what was reserved, or the settled amount; 0 when refused
--- @result retry_after duration            wait until least fits, exact to the microsecond; 0 when it does, and when it never will
--- @result reset_after duration            wait until nothing counts in any window: the longest window right after a charge; 0 when nothing
---     does
--- @result limits      group               one row per limit
--- @result limits.allowed bool             whether least fits this budget, or the receipt is already part of it
--- @result limits.spent micros             what is spent in the window after the call: 300000 of a budget of 1000000
--- @result limits.remaining micros         what is left of the budget: 700000; 0 when it is exceeded
--- @result limits.retry_after duration     wait until least fits this budget; 0 when it does, and when it never will
--- @error  RLARG                           least exceeds most, or the subject's stored charges would exceed 2^53 - 1 micros
--- @error  RLSTATE                         a key holds data that this library did not write
local function reserve_at_most(bucket, receipt, most_micros, limits, least_micros, hold_us, penalty_us)
  if least_micros > most_micros then
    return nil, refusal.argument('least must be at most most')
  end
  return cost_reservation.reserve(bucket, receipt, least_micros, most_micros, limits, hold_us, penalty_us)
end
