--- Returns what is spent, what reserve would return for a new receipt, and how a receipt stands; writes nothing.
--- @use clock budget reservation reservation_record spendings unit_amount
--- @flags  no-writes
--- @subject                    whose money it is: a stable identity, never a session
--- @key    record      string[reservation:<receipt>] what the receipt has reserved
--- @arg    budgets     group(budget)[1..16] budgets to report, each optionally of its own subject
--- @arg    estimate    micros[0..1000000000000000]=0 what would be reserved, in money
--- @arg    receipt     text[256]?          receipt to report
--- @arg    units       group(unit_amount)[0..4] what would be reserved in other units than money
--- @result allowed     bool                whether the estimate would be reserved
--- @result reason      enum(none,budget,penalty,too_large) why it would be refused; too_large: the estimate alone exceeds a budget
--- @result status      enum(unknown,reserved,settled,lapsed) status of the receipt. lapsed: reserved, not settled, and no longer counted
--- @result retry_after duration            wait until the estimate fits, exact to the microsecond; 0 when it does, and when it never will
--- @result reset_after duration            wait until nothing counts; 0 when nothing does
--- @result budgets     group(budget)       one row per budget
--- @error  RLARG                           a budget's periods contradict each other, or are not near the server's time
--- @error  RLSTATE                         a key holds data that this library did not write
local function peek(record, budgets, budgets_spent, estimate_micros, receipt, units)
  local found, unreadable = false, nil
  if receipt then
    found, unreadable = reservation_record.read(record)
  end
  if found == nil then
    return nil, unreadable
  end
  local now_us = clock.now_us()
  local call = {amount_micros = estimate_micros, budgets = budgets, keys = budgets_spent, units = units, now_us = now_us}
  local answer, failure = reservation.check(call)
  if not answer then
    return nil, failure
  end
  local status = 'unknown'
  if found then
    status = found.settled and 'settled' or found.until_us > now_us and 'reserved' or 'lapsed'
  end
  return answer.reason == 'none', answer.reason, status, answer.retry_us, spendings.reset_us(answer.all), answer.all
end
