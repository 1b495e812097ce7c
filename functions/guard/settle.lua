--- Replaces the estimates of one admit call with the actual cost in all of its budgets, once, however often it is called.
---
--- It is cost.settle: the cost is always recorded, even beyond a budget; 0 gives the estimate back. A budget whose unit the call omits
--- is settled at 0.
--- @use clock budget settlement unit_amount
--- @subject                                        the subject of the admit call; each budget has its own key
--- @key    record         string[reservation:<reservation>] what the call has reserved
--- @arg    budgets        group(budget)[1..16]    budgets of the admit call
--- @arg    reservation    text[64]                 reservation of the admit call
--- @arg    actual         micros[0..1000000000000000]=0 actual cost, in money
--- @arg    penalty        duration[1ms..3650d]?    how long a budget refuses reservations if the settlement exceeds it
--- @arg    units          group(unit_amount)[0..4] actual cost in other units than money
--- @result outcome        enum(settled,repeated,unknown) what was done, as in cost.settle
--- @result exceeded       bool                     whether any budget is exceeded now
--- @result penalty        duration                 how long reservations are refused from now on; 0 without a penalty
--- @result budgets        group                    one result per budget, in the order of the call
--- @result budgets.spent  micros                   what is spent in the window now: 1200000 of a budget of 1000000
--- @result budgets.remaining micros                what is left of the budget; 0 when it is exceeded
--- @error  RLARG                                   what is spent of a budget would exceed 2^53 - 1
--- @error  RLSTATE                                 a key holds data that its library did not write
local function settle(record, budgets, budgets_spent, reservation, actual_micros, penalty_us, units)
  local call = {key = record, amount_micros = actual_micros, budgets = budgets, keys = budgets_spent, units = units, now_us = clock.now_us()}
  local outcome, all = settlement.settle(call, penalty_us)
  if not outcome then
    return nil, all
  end
  local exceeded, left_us = settlement.exceeded(all)
  return outcome, exceeded, left_us, all
end
