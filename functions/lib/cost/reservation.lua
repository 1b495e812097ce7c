--- Reserves the amounts of a call in all of its accounts, or in none.
---
--- Besides what accounts takes, a call has key, of its reservation; hold_us; at_most; found, the reservation that the key has already and that a
--- repeat must not exceed; paid, what its receipt has paid by account, each time under another key; and settled, if it charges nothing.
--- @use accounts budget budget_check charge reservation_record
--- @lib reservation
local reservation = {}

local forever_us = 9007199254740992

-- Returns whether the reservation of an earlier call with the same key has paid for this one: no amount is larger than before, and what was
-- reserved is settled or counts.
local function has_paid(found, all, now_us)
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

-- Leaves of each amount what the receipt has not paid before; paid is nil without a known one. An account's paid is then what the receipt has
-- paid of it with this call, and an account that a repeat pays nothing more is free. Returns whether all are.
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

-- Checks whether a call's amounts fit, and writes nothing. Returns an answer: reason, 'none' if nothing refuses; place, of the first budget of
-- the account that does; retry_us; rows; all, the accounts; and free, whether the call charges nothing. Or nil and a refusal.
function reservation.check(call)
  local held_us = call.hold_us and budget.slice_end(call.now_us, call.hold_us) or forever_us
  local all, longest_us, rows = accounts.open(call, call.now_us, held_us, false)
  if not all then
    return nil, longest_us
  end
  local repeats = take_off(all, call.paid)
  local free = repeats or call.settled or call.found and has_paid(call.found, all, call.now_us)
  local answer = {reason = 'none', place = 0, retry_us = 0, rows = rows, all = all, longest_us = longest_us, free = free}
  for i = 1, #all do
    accounts.fill(all[i])
    if call.settled then
      all[i].paid = 0
    end
    local failure = not free and not all[i].free and budget_check.account(answer, all[i], call.at_most)
    if failure then
      return nil, failure
    end
  end
  if answer.reason == 'too_large' then
    answer.retry_us = 0
  end
  if call.at_most then
    budget_check.level(all)
  end
  return answer
end

-- Reserves what check allowed.
function reservation.reserve(call, answer)
  local charged, until_us = {nil}, 0
  for i = 1, answer.free and 0 or #answer.all do
    local one = answer.all[i]
    if not one.unreserved and not one.free then
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
