--- Reserves the amounts of a call in all of its accounts, or in none.
--- @use account accounts budget charge reservation_record
--- @lib reservation
local reservation = {}

local forever_us = 9007199254740992
local ranks = {none = 0, budget = 1, penalty = 2, too_large = 3}

-- Adds a reason to refuse, with its wait, of the account of a budget to an answer. The greatest reason hides the others.
local function refuse(answer, reason, wait_us, place)
  answer.retry_us = math.max(answer.retry_us, wait_us)
  if ranks[reason] > ranks[answer.reason] then
    answer.reason = reason
    answer.place = place
  end
end

-- Checks whether an amount fits a row of an account. Returns nil, or a refusal.
local function check_row(answer, one, row, amount)
  if amount > row.budget_micros then
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
local function check_account(answer, one, at_most)
  local amount = at_most and math.min(one.amount, 1) or one.amount
  if one.penalty_us > one.now_us then
    refuse(answer, 'penalty', one.penalty_us - one.now_us, one.place)
  end
  for i = 1, #one.rows do
    local failure = check_row(answer, one, one.rows[i], amount)
    if failure then
      return failure
    end
    if at_most then
      one.amount = math.min(one.amount, one.rows[i].remaining_micros)
    end
  end
  return nil
end

-- Returns whether a repeat of a receipt has paid for the call: no amount is larger than before, and what was reserved is settled or counts.
local function paid(found, all, now_us)
  for i = 1, #all do
    local one = all[i]
    local before = reservation_record.of(found, one.key)
    if not before or one.amount > before.amount or not found.settled and (found.until_us <= now_us or one.began_us > found.made_us) then
      return false
    end
  end
  for i = 1, #all do
    all[i].charged = reservation_record.of(found, all[i].key).amount
  end
  return true
end

-- Makes the amounts of accounts in one unit the least of them.
local function level(all)
  for i = 1, #all do
    for j = 1, #all do
      if all[i].unit == all[j].unit then
        all[i].amount = math.min(all[i].amount, all[j].amount)
      end
    end
  end
end

-- Checks whether a call's amounts fit, and writes nothing. found is the reservation that it has, false without one; paid_before says that
-- it charges nothing. Returns an answer: reason, 'none' if nothing refuses; place, of the first budget of the account that does; retry_us;
-- rows; all, the accounts; and free, whether the call charges nothing. Or nil and a refusal.
function reservation.check(call, found, paid_before)
  local held_us = call.hold_us and budget.slice_end(call.now_us, call.hold_us) or forever_us
  local all, longest_us, rows = accounts.open(call, call.now_us, held_us, false)
  if not all then
    return nil, longest_us
  end
  local free = paid_before or found and paid(found, all, call.now_us)
  local answer = {reason = 'none', place = 0, retry_us = 0, rows = rows, all = all, longest_us = longest_us, free = free}
  for i = 1, #all do
    accounts.fill(all[i])
    local failure = not free and check_account(answer, all[i], call.at_most)
    if failure then
      return nil, failure
    end
  end
  if answer.reason == 'too_large' then
    answer.retry_us = 0
  end
  if call.at_most then
    level(all)
  end
  return answer
end

-- Reserves what check allowed.
function reservation.reserve(call, answer)
  local charged, until_us = {nil}, 0
  for i = 1, answer.free and 0 or #answer.all do
    local one = answer.all[i]
    if not one.unreserved then
      one.charged = one.amount
      for j = 1, #one.charges do
        local to = one.charges[j]
        charge.add(one, to.sum, to.held, to.held_us, one.amount)
        until_us = to.held_us > until_us and to.held_us or until_us
      end
      accounts.fill(one)
      charged[#charged + 1] = one
    end
  end
  if #charged > 0 then
    reservation_record.write(call.key, false, call.now_us, until_us, charged, 2 * answer.longest_us)
  end
  for i = 1, #charged do
    charge.write(charged[i])
  end
  charge.expire(charged)
end

return reservation
