--- The limits of a call, of one subject or several: all are checked before any is charged.
--- @use clock refusal
--- @lib limit_rows
local limit_rows = {none = {}} -- the result of a group without rows

-- rlfunc:ignore library-state every call writes before it reads
local answers = {}

-- Returns the refusal of a row, which says which one it is.
function limit_rows.of_row(place, failure)
  if string.find(failure.err, '^RLARG ') then
    return refusal.argument(string.format('limits.%d.%s', place - 1, string.sub(failure.err, 7)))
  end
  return failure
end

local alike = 'limits must differ in kind, window or name: two rows would be one limit'
local too_much = refusal.argument('cost must be at most limit: it can never be allowed')

-- Creates `count` answers. Later calls use them again, because creating them took a twentieth of a call.
local function new_answers(count)
  local all = {}
  for i = 1, count do
    all[i] = {allowed = true, remaining = 0, reset_after_us = 0, retry_after_us = 0, cost = 0}
  end
  answers[count] = all
  return all
end

-- Returns what a row costs. A receipt that was counted has paid that many times the cost, and once where the weight does not matter; a
-- limit that counts every repeat costs the same each time.
function limit_rows.cost_of(row, weight, paid)
  if paid and not row.counts_repeats then
    return row.weighted and row.cost * math.max(weight - paid, 0) or 0
  end
  return row.weighted and row.cost * weight or row.cost
end

-- Checks a row. A shadow limit refuses a cost that can never fit, which is an error of the caller in any other limit. Returns nothing or a
-- refusal.
function limit_rows.check_row(row, key, cost, now_us, answer)
  answer.cost = cost
  if cost > row.most and not row.shadow then
    return too_much
  end
  local failure = row.check(row, key, cost > row.most and row.most or cost, now_us, answer)
  if failure then
    return failure
  elseif cost > row.most then
    answer.allowed = false
    answer.retry_after_us = 0
  end
end

-- Checks every row; paid is what the call's receipt has paid, nil if it is unknown, and holder is that of the call. What a repeat has paid
-- for is not refused. Returns the answer of each row, how many refuse, the longest of their waits, and how many of them are not global; or
-- nil and a refusal. Writes nothing.
function limit_rows.check(limits, states, weight, paid, now_us, holder)
  local count = #limits
  local all = answers[count] or new_answers(count)
  local refused, longest_us, refused_not_global = 0, 0, 0
  for i = 1, count do
    local row, answer = limits[i], all[i]
    answer.holder = holder
    local failure = row.same_above and refusal.same_key(states, i, alike) or limit_rows.check_row(row, states[i], limit_rows.cost_of(row, weight, paid), now_us, answer)
    if failure then
      return nil, limit_rows.of_row(i, failure)
    end
    if paid and answer.cost == 0 and not row.counts_repeats then
      answer.allowed = true
      answer.retry_after_us = 0
    elseif not answer.allowed and not row.shadow then
      refused = refused + 1
      refused_not_global = refused_not_global + (row.global and 0 or 1)
      longest_us = math.max(longest_us, answer.retry_after_us)
    end
  end
  return all, refused, longest_us, refused_not_global
end

-- Charges every row that allows the call, as check answered: all but refusing shadow limits. Returns whether any row costs.
function limit_rows.charge(limits, states, all, now_us)
  local any_cost = false
  for i = 1, #limits do
    local row, answer = limits[i], all[i]
    any_cost = any_cost or answer.cost > 0
    if answer.allowed and answer.cost > 0 then
      row.charge(row, states[i], answer.cost, now_us, answer)
      answer.remaining = answer.remaining - answer.cost
    end
  end
  return any_cost
end

-- Returns the clock if a row needs it, otherwise 0.
function limit_rows.now_us(limits)
  return #limits > 0 and limits[#limits].needs_clock and clock.now_us() or 0
end

-- Returns the longest window of the rows.
function limit_rows.longest_us(limits)
  local longest_us = 0
  for i = 1, #limits do
    longest_us = math.max(longest_us, limits[i].length_us)
  end
  return longest_us
end

return limit_rows
