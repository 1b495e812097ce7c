--- What a request takes of its subject besides attempts: judged together, and taken together.
--- @use receipt_set limit_set reserving challenge_record refusal
--- @lib admission
local admission = {}

-- Judges the estimate. Returns what reserving.judge returns as a table, its state nil where nothing is to be made, and the ID of
-- the reservation, for a known receipt that of its first call, empty where nothing is reserved; or nil and a refusal.
local function judge_cost(receipts, charges, receipt, known, reservation, estimate_micros, budgets, clock_us)
  if #budgets == 0 or not charges then
    return {reason = 'none', retry_us = 0, rows = {}}, ''
  end
  local id = reservation
  if receipt then
    local admitted_us = clock_us
    if known and receipts then
      admitted_us = receipt_set.admitted_us(receipts, receipt) or clock_us
    end
    id = receipt .. string.format('@%.0f', admitted_us)
  end
  if not id then
    return nil, refusal.argument('reservation must be given where there are budgets and no receipt')
  end
  local state, rows, retry_us, reason, charge = reserving.judge(charges, id, estimate_micros, budgets, clock_us)
  if not state then
    return nil, rows
  end
  if known and (not charge or charge.status == 'unknown') then
    id = ''
  end
  if known then
    for i = 1, #rows do
      rows[i].allowed = true
      rows[i].retry_after_us = 0
    end
  end
  if known or reason == 'held' then
    return {reason = 'none', retry_us = 0, rows = rows}, id
  end
  return {reason = reason, retry_us = retry_us, rows = rows, state = state, lapsed = charge}, id
end

-- Judges the challenge as challenge_record.judge does; without one it is none, or absent where it is required.
local function judge_challenge(challenges, known, challenge, required, payload, clock_us)
  if known then
    return 'none'
  end
  if challenge and challenges then
    return challenge_record.judge(challenges, challenge, payload, clock_us)
  end
  if required then
    return 'absent'
  end
  return 'none'
end

-- Judges limits, estimate and challenge, and writes nothing. Of a known receipt only global limits may refuse. Returns a table:
-- rows of the limits; the cost; the ID of its reservation; the outcome and the record of the challenge; the reason to refuse, or
-- none; whether anything but global limits refuses (own); and the longest wait. Or nil and a refusal.
function admission.judge(
  receipts, receipt, known, limits, limits_state, weight, charges, reservation, estimate_micros, budgets, challenges, challenge, required,
  payload, clock_us)
  local cost, id = judge_cost(receipts, charges, receipt, known, reservation, estimate_micros, budgets, clock_us)
  if not cost then
    return nil, id
  end
  local outcome, record = judge_challenge(challenges, known, challenge, required, payload, clock_us)
  if not outcome then
    return nil, record
  end
  local rows, refused, wait_us, refused_own = limit_set.judge(limits, limits_state, weight, known, false, clock_us)
  if not rows then
    return nil, refused
  end
  local reason, unmet = cost.reason, outcome ~= 'none' and outcome ~= 'consumed'
  if refused > 0 then
    reason = 'limit'
  elseif reason == 'none' and unmet then
    reason = 'challenge'
  end
  return {
    rows = rows, cost = cost, id = id, outcome = outcome, record = record, reason = reason,
    own = (refused_own or 0) > 0 or cost.reason ~= 'none' or unmet, wait_us = math.max(wait_us or 0, cost.retry_us),
  }
end

-- Takes all that was judged to be there, and notes the receipt. Returns a refusal, and then nothing is written, or nil.
function admission.take(
  asked, receipts, receipt, known, dedup_us, counted, limits, limits_state, weight, charges, estimate_micros, hold_us, penalty_us, challenges,
  challenge, clock_us)
  -- First what may still be refused.
  local cost, failure = asked.cost, nil
  if cost.state and charges then
    failure = reserving.make(charges, asked.id, estimate_micros, cost.state, cost.rows, cost.lapsed, hold_us, penalty_us)
  end
  if failure then
    return failure
  end
  local costs = limit_set.charge(limits, limits_state, asked.rows, weight, known, clock_us)
  local consumed = asked.outcome == 'consumed'
  if consumed and challenge and challenges and asked.record then
    challenge_record.consume(challenges, challenge, asked.record)
  end
  -- A call that takes nothing must not let a later one pass for nothing.
  if receipt and receipts and not known and (costs or counted or consumed or asked.id ~= '') then
    receipt_set.add(receipts, receipt, clock_us, dedup_us, 0)
  end
  return nil
end

return admission
