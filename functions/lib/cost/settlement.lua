--- Replaces what a call has reserved by what it has cost, in all of its accounts.
--- @use accounts charge clock reservation_record refusal
--- @lib settlement
local settlement = {}

local largest = 9007199254740991

-- Takes the estimate of an account back, unless it has ended or the account was reset since, and adds what the call has cost, unless the
-- charge would have ended. Returns nil, or a refusal.
local function replace(one, before, made_us)
  for i = 1, #one.charges do
    local of = one.charges[i]
    if before and before.windows[of.name] and not of.unheld and of.held_us > one.now_us and one.began_us <= made_us and of.held.amount > 0 then
      charge.add(one, of.sum, of.held, of.held_us, 0 - math.min(before.amount, of.held.amount))
    end
    if of.end_us > one.now_us then
      charge.add(one, of.sum, of.settled, of.end_us, one.amount)
    end
    if of.sum.amount > largest then
      return refusal.argument('actual must keep what an account has spent at most 9007199254740991')
    end
  end
  one.charged = before and one.amount > 0 and before.amount or one.amount
  return nil
end

-- Starts the penalty if the settlement has added to a row that exceeds its budget, and fills in what the rows are now.
local function finish(one, penalty_us)
  for i = 1, #one.rows do
    local row = one.rows[i]
    local spent = row.sum and row.sum.amount or 0
    if penalty_us and spent > row.budget_micros and spent > row.spent_micros and one.now_us + penalty_us > one.penalty_us then
      one.penalty_us = one.now_us + penalty_us
      one.punished_us = one.now_us
    end
  end
  accounts.fill(one)
end

-- Settles a reservation, or records what was spent without one. Returns the outcome: settled, repeated or unknown; the accounts, and a result
-- of each budget. Or nil and a refusal, and then nothing is written.
function settlement.settle(call, penalty_us)
  local found, unreadable = reservation_record.read(call.key)
  if found == nil then
    return nil, unreadable
  end
  local made_us, until_us = found and found.made_us or call.now_us, found and found.until_us or call.now_us
  local all, longest_us, rows = accounts.open(call, made_us, until_us, true)
  if not all then
    return nil, longest_us
  end
  local repeated = found and found.settled
  for i = 1, #all do
    accounts.fill(all[i])
    local failure = not repeated and replace(all[i], found and reservation_record.of(found, all[i].key), made_us)
    if failure then
      return nil, failure
    end
  end
  if repeated then
    return 'repeated', all, rows
  end
  reservation_record.write(call.key, true, made_us, until_us, all, not found and 2 * longest_us)
  for i = 1, #all do
    finish(all[i], penalty_us)
    charge.write(all[i])
  end
  charge.expire(all)
  if found then -- and not shorter than the caller needs that reserved, which may have a longer window
    clock.extend(call.key, 2 * longest_us)
  end
  return found and 'settled' or 'unknown', all, rows
end

-- Returns whether a budget of the accounts is exceeded, and how long a penalty lasts from now.
function settlement.exceeded(all)
  local exceeded, left_us = false, 0
  for i = 1, #all do
    local one = all[i]
    left_us = math.max(left_us, one.penalty_us - one.now_us)
    for j = 1, #one.rows do
      exceeded = exceeded or one.rows[j].spent_micros > one.rows[j].budget_micros
    end
  end
  return exceeded, left_us
end

return settlement
