--- Reserves an estimate if it fits every budget: all budgets are charged, or none.
---
--- A charge counts from now on, in each window for that window's length and to the end of its slice, a sixtieth of it. Until it is settled it
--- counts for hold at most, rounded up likewise. The same receipt again is allowed and charges nothing, while its estimate counts and once it is
--- settled, for twice the longest window; a larger amount than before is charged as that of a new receipt. A refused call writes nothing, so
--- its receipt can be used again. If the clock is set back, what was stored further ahead than a window does not count.
--- @use clock budget reservation reservation_record spendings unit_amount
--- @subject                    whose money it is: a stable identity, never a session
--- @key    record      string[reservation:<receipt>] what the receipt has reserved
--- @arg    receipt     text[256]           the request's own ID
--- @arg    estimate    micros[0..1000000000000000]=0 expected cost of the request, in money
--- @arg    budgets     group(budget)[1..16] budgets that are decided together, each optionally of its own subject
--- @arg    hold        duration[1ms..3650d]? how long an unsettled estimate counts; each window's length when omitted
--- @arg    at_most     bool?               take what every budget has left of the estimate, at least 1: for work whose size is chosen by that
--- @arg    units       group(unit_amount)[0..4] expected cost in other units than money; 0 in those that are omitted
--- @result allowed     bool                whether the estimate is reserved, by this call or by the receipt's first call
--- @result duplicate   bool                whether the receipt was charged before, so that this call charged nothing
--- @result reason      enum(none,budget,penalty,too_large) why it is refused; too_large: the estimate alone exceeds a budget
--- @result retry_after duration            wait until the estimate fits, exact to the microsecond; 0 when it does, and when it never will
--- @result reset_after duration            wait until nothing counts; 0 when nothing does
--- @result budgets     group(budget)       one row per budget
--- @error  RLARG                           a budget's periods contradict each other, or are not near the server's time
--- @error  RLSTATE                         a key holds data that this library did not write
local function reserve(record, receipt, estimate_micros, budgets, budgets_spent, hold_us, at_most, units)
  local found, unreadable = reservation_record.read(record)
  if found == nil then
    return nil, unreadable
  end
  local call = {
    key = record, amount_micros = estimate_micros, budgets = budgets, keys = budgets_spent, units = units, hold_us = hold_us, at_most = at_most,
    found = found, now_us = clock.now_us(),
  }
  local answer, failure = reservation.check(call)
  if not answer then
    return nil, failure
  end
  if answer.reason == 'none' then
    reservation.reserve(call, answer)
  end
  return answer.reason == 'none', answer.free, answer.reason, answer.retry_us, spendings.reset_us(answer.all), answer.all
end
