--- Reserves as much as is left of every budget, up to most: for work whose size is chosen by what is left, such as a long answer.
---
--- It is reserve with the estimate that fits. Settle the receipt with what was used.
--- @use cost_reservation account_budget
--- @subject                    whose money it is: a stable identity, never a session
--- @key    bucket      hash[charges:<unit>] the subject's charges: whose money it is, never a session
--- @arg    receipt     text[256]           the request's own ID
--- @arg    most        micros[1..1000000000000000] most to reserve
--- @arg    limits      packed(account_budget)[1..16] budgets that are decided together
--- @arg    least       micros[1..1000000000000000]=1 least that is of use: less than that is refused
--- @arg    hold        duration[1us..3650d]? how long an unsettled reservation counts; each window's length when omitted
--- @arg    penalty     duration[1us..3650d]? how long reservations are refused once a settlement has exceeded a budget; none when omitted
--- @arg    unit        text[32]?           unit of the account: tokens; money when omitted
--- @must   limits.previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   limits.after be above now: the caller's clock is more than a period behind the server's
--- @must   least be at most most
--- @result allowed     bool                whether anything is reserved, by this call or by the receipt's first call
--- @result duplicate   bool                whether the receipt was charged before, so that this call charged nothing
--- @result reason      enum(none,budget,penalty,too_large) why it is refused; too_large: least alone exceeds a budget
--- @result charged     micros              what the receipt costs now: what was reserved, or the settled amount; 0 when refused
--- @result retry_after duration            wait until least fits, exact to the microsecond; 0 when it does, and when it never will
--- @result reset_after duration            wait until nothing counts in any window: the longest window right after a charge; 0 when nothing
---     does
--- @result limits      group(account_budget)   one row per limit
--- @error  RLARG                           least exceeds most, or the subject's stored charges would exceed 2^53 - 1 micros
--- @error  RLSTATE                         a key holds data that this library did not write
local function reserve_at_most(bucket, receipt, most_micros, limits, least_micros, hold_us, penalty_us, unit)
  return cost_reservation.reserve(bucket, receipt, least_micros, most_micros, limits, hold_us, penalty_us)
end
