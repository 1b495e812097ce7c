--- What is spent of the budgets of one call.
--- @use budget refusal spending
--- @lib spendings
local spendings = {}

-- What calls have open, by the number of their budgets. Later calls use it again, because creating it took a tenth of a call.
-- rlfunc:ignore library-state every call writes what it reads
local opened = {}

local function new(count)
  local all = {}
  for i = 1, count do
    all[i] = {}
  end
  opened[count] = all
  return all
end

local alike = 'budgets must differ in unit, window or name: two rows would be one budget'

-- Opens what is spent of a call's budgets, for a charge that was made at made_us and whose estimate counts until held_us at most. Returns them
-- and the longest window; or nil and a refusal.
function spendings.open(call, made_us, held_us)
  local all, longest_us = opened[#call.budgets] or new(#call.budgets), 0
  for i = 1, #call.budgets do
    local row = call.budgets[i]
    local failure = row.same_above and refusal.same_key(call.keys, i, alike)
    if failure then
      return nil, failure
    end
    local open, unreadable = spending.open(all[i], call, i, made_us, held_us)
    if not open then
      return nil, unreadable or budget.wrong_clock(row, i, call.now_us)
    end
    longest_us = math.max(longest_us, row.length_us)
  end
  return all, longest_us
end

-- Makes the amounts in one unit the least of them.
function spendings.level(all)
  for i = 1, #all do
    for j = 1, #all do
      if all[i].row.unit == all[j].row.unit then
        all[i].amount = math.min(all[i].amount, all[j].amount)
      end
    end
  end
end

-- Returns how long until nothing counts.
function spendings.reset_us(all)
  local longest_us = 0
  for i = 1, #all do
    longest_us = math.max(longest_us, (all[i].last_us or 0) - all[i].now_us)
  end
  return longest_us
end

return spendings
