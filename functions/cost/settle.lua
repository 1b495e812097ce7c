--- Replaces what a receipt reserved by the actual cost, once, however often it is called and however late.
---
--- The actual cost is always recorded, even beyond a budget; 0 gives the estimate back. A charge counts from its reservation, so a settlement
--- changes nothing in a window that the charge has left. What was spent without a reservation counts from now on. Give the budgets of the
--- reservation: only they are settled. An estimate of before a reset is not taken back.
--- @use clock budget settlement unit_amount
--- @subject                    whose money it is: a stable identity, never a session
--- @key    record      string[reservation:<receipt>] what the receipt has reserved
--- @arg    receipt     text[256]           receipt of the reservation
--- @arg    actual      micros[0..1000000000000000]=0 actual cost, in money
--- @arg    budgets     group(budget)[1..16] budgets of the reservation, each optionally of its own subject
--- @arg    penalty     duration[1ms..3650d]? how long a budget refuses reservations if the settlement exceeds it
--- @arg    units       group(unit_amount)[0..4] actual cost in other units than money; 0 in those that are omitted
--- @result outcome     enum(settled,repeated,unknown) what was done. repeated: nothing, it was already settled. unknown: charged now, because
---     the receipt has no reservation
--- @result exceeded    bool                whether any budget is exceeded now
--- @result penalty     duration            how long reservations are refused from now on; 0 without a penalty
--- @result budgets     group               one row per budget
--- @result budgets.spent micros            what is spent in the window now: 1200000 of a budget of 1000000
--- @result budgets.remaining micros        what is left of the budget; 0 when it is exceeded
--- @error  RLARG                           what is spent of a budget would exceed 2^53 - 1
--- @error  RLSTATE                         a key holds data that this library did not write
local function settle(record, receipt, actual_micros, budgets, budgets_spent, penalty_us, units)
  local call = {key = record, amount_micros = actual_micros, budgets = budgets, keys = budgets_spent, units = units, now_us = clock.now_us()}
  local outcome, all = settlement.settle(call, penalty_us)
  if not outcome then
    return nil, all
  end
  local exceeded, left_us = settlement.exceeded(all)
  return outcome, exceeded, left_us, all
end
