--- Replaces what a call has reserved by what it has cost, in all of its budgets.
--- @use charge clock refusal reservation_record spending spendings
--- @lib settlement
local settlement = {}

local largest = 9007199254740991

-- Settles a reservation, or records what was spent without one. Returns the outcome: settled, repeated or unknown; and the rows' results. Or
-- nil and a refusal, and then nothing is written.
function settlement.settle(call, penalty_us)
  local found, unreadable = reservation_record.read(call.key)
  if found == nil then
    return nil, unreadable
  end
  local made_us, until_us = found and found.made_us or call.now_us, found and found.until_us or call.now_us
  local all, longest_us = spendings.open(call, made_us, until_us)
  if not all then
    return nil, longest_us
  elseif found and found.settled then
    return 'repeated', all
  end
  for i = 1, #all do
    charge.settle(all[i], found and reservation_record.of(found, all[i].key), made_us)
    if all[i].sum > largest then
      return nil, refusal.argument('actual must keep what is spent of a budget at most 9007199254740991')
    end
  end
  reservation_record.write(call.key, true, made_us, until_us, all, not found and 2 * longest_us)
  for i = 1, #all do
    if penalty_us then
      charge.punish(all[i], penalty_us)
    end
    spending.show(all[i])
  end
  charge.write(all)
  if found then -- and not shorter than the caller needs that reserved, which may have a longer window
    clock.extend(call.key, 2 * longest_us)
  end
  return found and 'settled' or 'unknown', all
end

-- Returns whether any budget is exceeded, and how long a penalty lasts from now.
function settlement.exceeded(all)
  local exceeded, left_us = false, 0
  for i = 1, #all do
    left_us = math.max(left_us, all[i].penalty_us - all[i].now_us)
    exceeded = exceeded or all[i].spent_micros > all[i].row.budget_micros
  end
  return exceeded, left_us
end

return settlement
