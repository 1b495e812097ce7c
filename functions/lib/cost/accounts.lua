--- The accounts of one call: budgets of one key are one account, which has one amount of the call.
---
--- call has what all functions here take: the budgets and their keys, the amounts in money and units, and the time.
--- @use account budget unit_amount refusal
--- @lib accounts
local accounts = {}

-- Returns the account of a key, which is new with its first budget.
local function account_of(all, key, call, place)
  for i = 1, #all do
    if all[i].key == key then
      return all[i]
    end
  end
  local unit = call.budgets[place].unit
  local amount, unreserved = unit_amount.of(call, unit)
  local one = {
    key = key, unit = unit, place = place, amount = amount, unreserved = unreserved, charged = 0, rows = {nil}, charges = {nil}, counts = {nil, nil},
    now_us = call.now_us, began_us = call.now_us, exists = false, next_us = nil, last_us = nil, penalty_us = 0, punished_us = nil, moved = false, ends = nil,
    amounts = nil, sums = nil, dropped = nil,
  }
  all[#all + 1] = one
  return one
end

-- Returns the charge of an account in a window: its sum, what counts there until the charge ends, and until an estimate does.
local function charge_of(one, window, end_us, held_us, settles)
  for i = 1, #one.charges do
    if one.charges[i].name == window.name then
      return one.charges[i]
    end
  end
  local counts = one.counts
  local sum, held = {field = window.sum, amount = 0, changed = false}, {field = budget.field(window, held_us), amount = 0, changed = false}
  local new, count = {name = window.name, sum = sum, held = held, held_us = held_us, settled = held, end_us = end_us}, #counts
  counts[count + 1] = sum
  counts[count + 2] = held
  if settles and held_us ~= end_us then
    new.settled = {field = budget.field(window, end_us), amount = 0, changed = false}
    counts[count + 3] = new.settled
  end
  one.charges[#one.charges + 1] = new
  return new
end

local function wrong_clock(row, place, now_us)
  local name, side = 'after', 'behind'
  if now_us < row.previous_us then
    name = 'previous'
    side = 'ahead of'
  end
  return refusal.argument(string.format(
    "budgets.%d.%s must be on the other side of now: the caller's clock is more than a period %s the server's", place - 1, name, side))
end

-- Reads the accounts of a call, for a charge that was made at made_us, and whose estimate counts until held_us at most. Returns them, the
-- longest window, and a result for each budget; or nil and a refusal. If the call settles, a charge may be older than the budgets' periods.
function accounts.open(call, made_us, held_us, settles)
  local all, results, longest_us, now_us = {nil}, {nil}, 0, call.now_us
  for i = 1, #call.budgets do
    local row = call.budgets[i]
    -- A time that is further ahead than a window is of a clock that has been set back since.
    local one, ahead = account_of(all, call.keys[i], call, i), made_us > now_us + row.window_us
    local window, end_us = budget.window(row, ahead and now_us or made_us)
    local of = window and charge_of(one, window, end_us, (ahead or held_us >= end_us) and end_us or held_us, settles)
    if of and ahead then
      of.unheld = true
    end
    if made_us ~= now_us and not row.sliding then
      window = budget.window(row, now_us)
      of = window and charge_of(one, window, 0, 0, false)
    elseif not of then
      return nil, wrong_clock(row, i, now_us)
    end
    local result = {
      allowed = true, spent_micros = 0, remaining_micros = 0, charged_micros = 0, retry_after_us = 0, budget_micros = row.budget_micros,
      sum = of and of.sum,
    }
    results[i] = result
    one.rows[#one.rows + 1] = result
    if row.window_us > longest_us then
      longest_us = row.window_us
    end
  end
  for i = 1, #all do
    local failure = account.read(all[i])
    if failure then
      return nil, failure
    end
  end
  return all, longest_us, results
end

-- Fills in what the rows of an account are now.
function accounts.fill(one)
  for i = 1, #one.rows do
    local row = one.rows[i]
    local spent = row.sum and row.sum.amount or 0
    row.spent_micros = spent
    row.remaining_micros = spent < row.budget_micros and row.budget_micros - spent or 0
    row.charged_micros = one.charged
  end
end

-- Returns how long until nothing counts in any of the accounts.
function accounts.reset_us(all)
  local last_us = 0
  for i = 1, #all do
    last_us = math.max(last_us, (all[i].last_us or 0) - all[i].now_us)
  end
  return last_us
end

return accounts
