--- Whether the amounts of a call fit its accounts, and the answer that says why not.
--- @use account
--- @lib budget_check
local budget_check = {}

local ranks = {none = 0, budget = 1, penalty = 2, too_large = 3}

-- Adds a reason to refuse, with its wait, of the account of a budget to an answer. The greatest reason hides the others.
local function refuse(answer, reason, wait_us, place)
  answer.retry_us = math.max(answer.retry_us, wait_us)
  if ranks[reason] > ranks[answer.reason] then
    answer.reason = reason
    answer.place = place
  end
end

-- Checks whether an amount fits a row of an account; whole is the amount with what the call's receipt has paid before. Returns nil, or a refusal.
local function check_row(answer, one, row, amount, whole)
  if whole > row.budget_micros then
    row.allowed = false
    refuse(answer, 'too_large', 0, one.place)
  elseif amount > row.budget_micros - row.spent_micros then
    local wait_us, failure = account.wait_us(one, row.sum, row.budget_micros - amount)
    if not wait_us then
      return failure
    end
    row.allowed = false
    row.retry_after_us = wait_us
    refuse(answer, 'budget', wait_us, one.place)
  end
  return nil
end

-- Checks whether an account admits its amount, or anything if it takes what is left. Returns nil, or a refusal.
function budget_check.account(answer, one, at_most)
  local amount, whole = one.amount, one.paid
  if at_most then
    amount = math.min(amount, 1)
    whole = amount
  end
  if one.penalty_us > one.now_us then
    refuse(answer, 'penalty', one.penalty_us - one.now_us, one.place)
  end
  for i = 1, #one.rows do
    local failure = check_row(answer, one, one.rows[i], amount, whole)
    if failure then
      return failure
    end
    if at_most then
      one.amount = math.min(one.amount, one.rows[i].remaining_micros)
    end
  end
  return nil
end

-- Makes the amounts of accounts in one unit the least of them.
function budget_check.level(all)
  for i = 1, #all do
    for j = 1, #all do
      if all[i].unit == all[j].unit then
        all[i].amount = math.min(all[i].amount, all[j].amount)
      end
    end
  end
end

return budget_check
