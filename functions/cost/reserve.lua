--- Reserves an estimate if it fits every budget: all budgets are charged, or none.
---
--- A charge counts from now on, in each window for that window's length, but for at most hold until it is settled. Eight
--- different holds at a time are exact. While eight are open, a further one lasts as long as the next longer of them, or has no
--- hold. The same receipt again is allowed and charged nothing, whatever its estimate. This lasts for as long as it counts, and
--- after settlement for twice the longest window. A refused call writes nothing, so its receipt can be used again.
--- @use cost_reservation account_budget
--- @subject                    whose money it is: a stable identity, never a session
--- @key    bucket      hash[charges:<unit>] the subject's charges: whose money it is, never a session
--- @arg    receipt     text[256]           the request's own ID
--- @arg    estimate    micros[0..1000000000000000] expected cost of the request
--- @arg    limits      packed(account_budget)[1..16] budgets that are decided together
--- @arg    hold        duration[1us..3650d]? how long an unsettled estimate counts; each window's length when omitted
--- @arg    penalty     duration[1us..3650d]? how long reservations are refused once a settlement has exceeded a budget; none when omitted
--- @arg    unit        text[32]?           unit of the account: tokens; money when omitted
--- @must   limits.previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   limits.after be above now: the caller's clock is more than a period behind the server's
--- @result allowed     bool                whether the estimate is reserved, by this call or by the receipt's first call
--- @result duplicate   bool                whether the receipt was charged before, so that this call charged nothing
--- @result reason      enum(none,budget,penalty,too_large) why it is refused; too_large: the estimate alone exceeds a budget
--- @result charged     micros              what the receipt costs now: its first estimate, or the settled amount; 0 when refused
--- @result retry_after duration            wait until the estimate fits, exact to the microsecond; 0 when it does, and when it never will
--- @result reset_after duration            wait until nothing counts in any window: the longest window right after a charge; 0 when nothing
---     does
--- @result limits      group(account_budget)   one row per limit
--- @error  RLARG                           the subject's stored charges would exceed 2^53 - 1 micros
--- @error  RLSTATE                         a key holds data that this library did not write
local function reserve(bucket, receipt, estimate_micros, limits, hold_us, penalty_us, unit)
  return cost_reservation.reserve(bucket, receipt, estimate_micros, estimate_micros, limits, hold_us, penalty_us)
end
