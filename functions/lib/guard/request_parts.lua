--- Checks and charges what a request takes of its subjects besides attempts: limits, budgets and the challenge.
--- @use receipt_set limit_rows accounts challenge_record
--- @lib request_parts
local request_parts = {}

local no_budgets = {reason = 'none', place = 0, retry_us = 0, rows = {}, accounts = {}}

-- Checks the challenge as challenge_record.check does; without one the outcome is none, or absent if it is required.
local function check_challenge(challenges, known, challenge, required, payload, clock_us)
  if known then
    return 'none'
  end
  if challenge and challenges then
    return challenge_record.check(challenges, challenge, payload, clock_us)
  end
  if required then
    return 'absent'
  end
  return 'none'
end

-- Checks limits, estimate and challenge, and writes nothing. Only global limits may refuse a known receipt. Returns a table: rows
-- of the limits; the cost; the outcome and the record of the challenge; the reason to refuse, or none;
-- whether anything but global limits refuses; and the longest wait. Or nil and a refusal.
function request_parts.check(
  known, limits, limits_state, weight, budgets, charges, estimate_micros, units, reservation, challenges, challenge, required, payload, clock_us,
  holder)
  local cost, no_cost = no_budgets, nil
  if #budgets > 0 and reservation then -- the header requires one with budgets
    cost, no_cost = accounts.check(budgets, charges, estimate_micros, units, reservation, known, clock_us)
  end
  if not cost then
    return nil, no_cost
  end
  local outcome, record = check_challenge(challenges, known, challenge, required, payload, clock_us)
  if not outcome then
    return nil, record
  end
  local rows, refused, wait_us, refused_not_global = limit_rows.check(limits, limits_state, weight, known, false, clock_us, nil, holder)
  if not rows then
    return nil, refused
  end
  local reason, challenge_failed = cost.reason, outcome ~= 'none' and outcome ~= 'consumed'
  if refused > 0 then
    reason = 'limit'
  elseif reason == 'none' and challenge_failed then
    reason = 'challenge'
  end
  return {
    rows = rows, cost = cost, outcome = outcome, record = record, reason = reason,
    refused_beyond_global = (refused_not_global or 0) > 0 or cost.reason ~= 'none' or challenge_failed, wait_us = math.max(wait_us or 0, cost.retry_us),
  }
end

-- Charges what check allowed, and records the receipt or its repeat, as receipt_set.check found it. Returns nil, or a refusal without writing.
function request_parts.charge(
  parts, receipts, receipt, known, mark, used_up, dedup_us, counted, limits, limits_state, reservation, hold_us, penalty_us, challenges,
  challenge, clock_us)
  -- The reservation is first, because it can still be refused.
  local failure = accounts.reserve(parts.cost.accounts, reservation or '', hold_us, penalty_us)
  if failure then
    return failure
  end
  local costs = limit_rows.charge(limits, limits_state, parts.rows, known, clock_us)
  local consumed = parts.outcome == 'consumed'
  if consumed and challenge and challenges and parts.record then
    challenge_record.consume(challenges, challenge, parts.record)
  end
  -- A call that charges nothing must not give a later one a free pass.
  if receipt and receipts and not known and (costs or counted or consumed or #parts.cost.rows > 0) then
    receipt_set.add(receipts, receipt, clock_us, dedup_us, 0)
  end
  receipt_set.record_pass(receipts, receipt, mark, used_up)
  return nil
end

return request_parts
