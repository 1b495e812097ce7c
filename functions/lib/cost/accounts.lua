--- The accounts of one call. Budgets of one key are one account, which has one amount of the call; usually there is one.
--- @use cost_reservation charge_store refusal
--- @lib accounts
local accounts = {}

local ranks = {none = 0, budget = 1, penalty = 2, too_large = 3}

-- Returns the accounts of budgets, by their keys. An account has its budgets as limits, with their places in the call, and its amount: of
-- money, or of a unit, 0 if the call names none. An unreserved amount must fit, but is not charged.
function accounts.of(budgets, charges, amount_micros, units)
  local all = {nil, nil}
  for i = 1, #budgets do
    local row, key, account = budgets[i], charges[i], nil
    for j = 1, #all do
      if all[j].key == key then
        account = all[j]
      end
    end
    if account then
      account.limits[#account.limits + 1] = row
      account.places[#account.places + 1] = i
    else
      account = {key = key, limits = {row}, places = {i}, amount_micros = amount_micros, state = nil}
      if row.unit then
        account.amount_micros = 0
        for j = 1, #units do
          if units[j].unit == row.unit then
            account.amount_micros = units[j].amount
            account.unreserved = units[j].unreserved
          end
        end
      end
      all[#all + 1] = account
    end
  end
  return all
end

-- Names in a refusal of a limit's argument the budget of the call.
local function of_row(failure, account)
  local place, text = string.match(failure.err, '^RLARG limits%.(%d+)%.(.*)$')
  if place then
    return refusal.argument(string.format('budgets.%d.%s', account.places[place + 1] - 1, text))
  end
  return failure
end

-- Checks a reservation of each account's amount, and writes nothing. A known receipt reserves nothing, and neither does an account that
-- has the reservation already. Returns the result as a table: the reason to refuse or 'none', the place of the first budget of the account that
-- refuses so, the longest wait, one row per budget, and the accounts, those that will be charged with a state. Or nil and a refusal.
function accounts.check(budgets, charges, amount_micros, units, reservation, known, clock_us)
  local result = {reason = 'none', place = 0, retry_us = 0, rows = {nil, nil}, accounts = accounts.of(budgets, charges, amount_micros, units)}
  for i = 1, #result.accounts do
    local account = result.accounts[i]
    local state, rows, retry_us, reason, charge = cost_reservation.check(
      account.key, reservation, account.amount_micros, account.limits, clock_us)
    if not state then
      return nil, of_row(rows, account)
    end
    for j = 1, #rows do
      result.rows[account.places[j]] = rows[j]
      if known then
        rows[j].allowed = true
        rows[j].retry_after_us = 0
      end
    end
    if not known and reason ~= 'counted' then
      if not account.unreserved then
        account.state = state
        account.rows = rows
        account.charge = charge
      end
      result.retry_us = math.max(result.retry_us, retry_us)
      if ranks[reason] > ranks[result.reason] then
        result.reason = reason
        result.place = account.places[1]
      end
    end
  end
  if result.reason == 'too_large' then
    result.retry_us = 0
  end
  return result
end

-- Reserves what check allowed, in all accounts. Returns nil; or a refusal, and then nothing is written.
function accounts.reserve(all, reservation, hold_us, penalty_us)
  for i = 1, #all do
    local account = all[i]
    if account.state then
      local failure = cost_reservation.create(
        account.key, reservation, account.amount_micros, account.state, account.rows, account.charge, hold_us, penalty_us)
      if failure then
        return failure
      end
    end
  end
  accounts.store(all)
  return nil
end

-- Refunds a reservation in all accounts. Returns nil; or a refusal, and then nothing is written.
function accounts.cancel(budgets, charges, reservation, clock_us)
  local all = accounts.of(budgets, charges, 0, {})
  for i = 1, #all do
    local outcome, failure, state = cost_reservation.cancel(all[i].key, reservation, clock_us)
    if not outcome then
      return failure
    end
    all[i].state = state
  end
  accounts.store(all)
  return nil
end

-- Settles a reservation in all accounts. Returns the accounts, each with an outcome, its state as settled, and its
-- windows; or nil and a refusal, and then nothing is written.
function accounts.settle(budgets, charges, actual_micros, units, reservation, clock_us)
  local all = accounts.of(budgets, charges, actual_micros, units)
  for i = 1, #all do
    local account = all[i]
    local outcome, charged, state, windows = cost_reservation.settle(
      account.key, reservation, account.amount_micros, account.limits, clock_us)
    if not outcome then
      return nil, of_row(charged, account)
    end
    account.outcome = outcome
    account.settled = state
    account.windows = windows
    if outcome ~= 'repeated' then
      account.state = state
    end
  end
  accounts.store(all)
  return all
end

-- Writes the accounts that were changed.
function accounts.store(all)
  for i = 1, #all do
    if all[i].state then
      charge_store.store(all[i].key, all[i].state)
    end
  end
end

return accounts
