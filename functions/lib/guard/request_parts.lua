--- Checks and charges what a request takes of its subjects besides attempts: limits, budgets and the challenge.
--- @use receipts limit_rows reservation reservation_record challenge_record
--- @lib request_parts
local request_parts = {}

local no_budgets = {reason = 'none', place = 0, retry_us = 0, all = {}, free = true}

-- Checks the challenge as challenge_record.check does; without one the outcome is none, or absent if it is required. A repeat has consumed it.
local function check_challenge(request)
  if request.repeated then
    return 'none'
  elseif request.challenge and request.challenges then
    return challenge_record.check(request.challenges, request.challenge, request.payload, request.now_us)
  end
  return request.challenge_required and 'absent' or 'none'
end

-- Checks what the request costs, as reservation.check does: a repeat what its receipt has not paid before, under a reservation of its own. A
-- reservation is of one call: if it exists, it was settled before the call came.
local function check_costs(request)
  if #request.budgets == 0 or not request.key then -- the header requires one with budgets
    return no_budgets
  end
  local found, unreadable = reservation_record.read(request.key)
  if found == nil then
    return nil, unreadable
  end
  request.settled = found ~= false
  request.paid = request.repeated and request.repeated.budgets or nil
  return reservation.check(request)
end

-- Checks limits, estimate and challenge, and writes nothing. A request has the arguments of guard.admit, those of its costs as reservation takes
-- them, repeated as receipts.find found its receipt, and now_us. It gets rows of the limits; cost; the outcome and the record of the challenge;
-- the reason to refuse, or none; whether anything but global limits refuses; and the longest wait. Returns nothing, or a refusal.
function request_parts.check(request)
  local repeated = request.repeated
  local cost, no_cost = check_costs(request)
  if not cost then
    return no_cost
  end
  local outcome, record = check_challenge(request)
  if not outcome then
    return record
  end
  local rows, refused, wait_us, refused_not_global = limit_rows.check(
    request.limits, request.states, request.weight, repeated and repeated.paid or nil, request.now_us, request.holder)
  if not rows then
    return refused
  end
  local reason, challenge_failed = cost.reason, outcome ~= 'none' and outcome ~= 'consumed'
  if refused > 0 then
    reason = 'limit'
  elseif reason == 'none' and challenge_failed then
    reason = 'challenge'
  end
  request.rows = rows
  request.cost = cost
  request.outcome = outcome
  request.record = record
  request.reason = reason
  request.refused_beyond_global = (refused_not_global or 0) > 0 or cost.reason ~= 'none' or challenge_failed
  request.wait_us = math.max(wait_us or 0, cost.retry_us)
end

-- Charges what check allowed, and records the receipt or its repeat. tried is whether the request was recorded as an attempt.
function request_parts.charge(request, tried)
  local known, repeated, weight, cost = request.known, request.repeated, request.weight, request.cost
  reservation.reserve(request, cost)
  local charges = limit_rows.charge(request.limits, request.states, request.rows, request.now_us)
  local consumed = request.outcome == 'consumed'
  if consumed and request.challenge and request.challenges and request.record then
    challenge_record.consume(request.challenges, request.challenge, request.record)
  end
  if repeated and (request.repeats or weight > repeated.paid or not cost.free) then
    receipts.add_repeat(known, repeated, weight, cost.all)
  elseif known and not repeated and (charges or tried or consumed or #cost.all > 0) then
    receipts.add(known, request.now_us, request.dedup_us, weight, cost.all) -- a call that pays nothing must not give a later one a free pass
  end
end

return request_parts
