--- Replaces the estimates of one admit call with the actual cost in all of its accounts, once, however often it is called.
---
--- Each account is settled as by cost.settle: the cost is always recorded, even beyond a budget. An account whose unit the call omits is settled
--- at 0.
--- @use clock accounts budget_fit charge_store cost_reservation
--- @key    bucket         any[settled]             the subject of the call; each account has its own key
--- @arg    budgets        packed(budget)[1..16]    budgets of the admit call
--- @arg    reservation    text[64]                 reservation of the admit call
--- @arg    actual         micros[0..1000000000000000]=0 actual cost, in money
--- @arg    units          packed(unit_amount)[0..4] actual cost in other units than money
--- @must   budgets.previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   budgets.after be above now: the caller's clock is more than a period behind the server's
--- @must   units differ in unit: a call has one amount of each
--- @result exceeded       bool                     whether any budget of an account is exceeded now
--- @result penalty        duration                 how long reservations are refused from now on; 0 without a penalty
--- @result budgets        group                    one result per budget, in the order of the call
--- @result budgets.outcome enum(settled,repeated,late,unknown) what was done in its account, as in cost.settle
--- @result budgets.spent  micros                   what is spent in the window now: 1200000 of a budget of 1000000
--- @result budgets.remaining micros                what is left of the budget; 0 when it is exceeded
--- @error  RLARG                                   an account's charges would exceed 2^53 - 1
--- @error  RLSTATE                                 a key holds data that its library did not write
local function settle(bucket, budgets, budgets_charges, reservation, actual_micros, units) -- rlfunc:ignore unused-parameter each account has its own key
  local all, failure = accounts.settle(budgets, budgets_charges, actual_micros, units, reservation, clock.now_us())
  if not all then
    return nil, failure
  end
  local exceeded, penalty_us, rows = false, 0, {}
  for i = 1, #all do
    local account = all[i]
    exceeded = exceeded or charge_store.exceeded(account.settled)
    penalty_us = math.max(penalty_us, cost_reservation.penalty_us(account.settled))
    local found = budget_fit.rows(account.windows, account.limits)
    for j = 1, #found do
      found[j].outcome = account.outcome
      rows[account.places[j]] = found[j]
    end
  end
  return exceeded, penalty_us, rows
end
