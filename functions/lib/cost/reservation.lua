--- Reserves the amounts of a call in all of its budgets, or in none.
---
--- A call has key, of its reservation; budgets, keys, amount_micros, units, hold_us, at_most and now_us; found, the reservation that the key
--- has already and that a repeat must not exceed; paid, by budget, what its receipt has paid under other keys; settled, if it charges nothing.
--- @use budget charge reservation_record spending_ends spendings
--- @lib reservation
local reservation = {}

local forever_us = 9007199254740992

local ranks = {none = 0, budget = 1, penalty = 2, too_large = 3}

-- Adds a reason to refuse, with its wait, of the budget at a place. The greatest reason hides the others.
local function refuse(answer, reason, wait_us, place)
  answer.retry_us = math.max(answer.retry_us, wait_us)
  if ranks[reason] > ranks[answer.reason] then
    answer.reason = reason
    answer.place = place
  end
end

-- Checks whether a budget admits its amount, or anything if the call takes what is left. Returns nothing, or a refusal.
local function check(answer, one, place, at_most)
  local budget_micros = one.row.budget_micros
  local amount, whole = one.amount, one.paid
  if at_most then
    amount = math.min(amount, 1)
    whole = amount
    one.amount = math.min(one.amount, one.remaining_micros)
  end
  if one.penalty_us > one.now_us then
    refuse(answer, 'penalty', one.penalty_us - one.now_us, place)
  end
  if whole > budget_micros then
    one.allowed = false
    refuse(answer, 'too_large', 0, place)
  elseif amount > budget_micros - one.sum then
    local wait_us, failure = spending_ends.wait_us(one, budget_micros - amount)
    if not wait_us then
      return failure
    end
    one.allowed = false
    one.retry_after_us = wait_us
    refuse(answer, 'budget', wait_us, place)
  end
end

-- Returns whether the reservation of an earlier call with the same key has paid for this one: no amount is larger than before, and what was
-- reserved is settled or counts.
local function has_paid(found, all, now_us)
  for i = 1, #all do
    local one, before = all[i], reservation_record.of(found, all[i].key)
    if not before or one.amount > before or not found.settled and (found.until_us <= now_us or one.began_us > found.made_us) then
      return false
    end
  end
  for i = 1, #all do
    all[i].charged_micros = reservation_record.of(found, all[i].key)
  end
  return true
end

-- Leaves of each amount what the receipt has not paid before; paid is nil without a known one. A budget's paid is then what the receipt has
-- paid of it with this call, and a budget that a repeat pays nothing more is free. Returns whether all are.
local function take_off(all, paid)
  local free = paid ~= nil
  for i = 1, #all do
    local one = all[i]
    local before = paid and paid[one.key] or 0
    one.paid = math.max(one.amount, before)
    one.amount = one.paid - before
    one.free = paid ~= nil and one.amount == 0
    free = free and one.free
  end
  return free
end

-- Checks whether a call's amounts fit, and writes nothing. Returns an answer: reason, 'none' if nothing refuses; place, of the budget that does;
-- retry_us; all, the rows' results; and free, whether the call charges nothing. Or nil and a refusal.
function reservation.check(call)
  local all, longest_us = spendings.open(call, call.now_us, call.hold_us and budget.slice_end(call.now_us, call.hold_us) or forever_us)
  if not all then
    return nil, longest_us
  end
  local repeats = take_off(all, call.paid)
  local free = repeats or call.settled or call.found and has_paid(call.found, all, call.now_us)
  local answer = {reason = 'none', place = 0, retry_us = 0, all = all, longest_us = longest_us, free = free}
  for i = 1, #all do
    all[i].paid = call.settled and 0 or all[i].paid
    local failure = not free and not all[i].free and check(answer, all[i], i, call.at_most)
    if failure then
      return nil, failure
    end
  end
  if answer.reason == 'too_large' then
    answer.retry_us = 0
  end
  if call.at_most then
    spendings.level(all)
  end
  return answer
end

-- Reserves what check allowed.
function reservation.reserve(call, answer)
  local all, until_us = answer.all, 0
  for i = 1, answer.free and 0 or #all do
    local one = all[i]
    if not one.unreserved and not one.free then
      charge.reserve(one)
      until_us = math.max(until_us, one.held_us)
    end
  end
  if until_us > 0 then
    reservation_record.write(call.key, false, call.now_us, until_us, all, 2 * answer.longest_us)
    charge.write(all)
  end
end

return reservation
