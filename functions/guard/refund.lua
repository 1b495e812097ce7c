--- Refunds what one admit call charged, as if the request had not come; its attempt remains.
---
--- A receipt is refunded once; an unknown one does nothing. It is known for the call's dedup, 10 s by default: to refund a
--- request that may take longer, give its admission a longer dedup, or refund without the receipt. Without a receipt every
--- call refunds, so a caller that retries refunds twice. Charges that no longer count are not refunded, and neither are settled ones.
--- @use clock receipt_set limit limit_rows kind_quota accounts challenge_record
--- @key    bucket         zset[checked]            receipts that were admitted, by time; each limit has its own key
--- @key    challenges     hash[challenges]?challenge.of the subject's challenges, by token
--- @arg    limits         packed(limit)[0..16]     limits of the call
--- @arg    weight         count[1..1000000000000]=1 as in the call
--- @arg    at             time?                    when the call was decided, from its result
--- @arg    age            duration[0us..]=0us      how long ago the call was sent: charges that have expired since are not refunded
--- @arg    receipt        text[224]?               receipt that was admitted
--- @arg    reservation    text[64]?                reservation of the call, which is cancelled in the accounts of budgets
--- @arg    challenge      text[128]?               challenge that the call consumed, which becomes usable again
--- @arg    payload        text[1024]?              what it was issued for, as in the call
--- @arg    taken          group[0..16]             what the call returned, one row per limit
--- @arg    taken.left     duration[0us..]          the limit's reset_after; 0 refunds nothing
--- @arg    expires        time?                    when the refund expires, from the call's result: from then on, nothing is refunded
--- @arg    holder         text[64]?                as in the call: required with a limit of kind concurrency
--- @arg    budgets        packed(budget)[0..16]    budgets of the call
--- @must   reservation be given if budgets
--- @must   budgets be given if reservation
--- @must   taken have as many rows as limits
--- @must   limits differ in kind or name: two rows would be one limit
--- @result refunded     bool                     whether it was refunded; false when the receipt is unknown, and when it has expired
--- @error  RLARG                                   limits that no call could have, or taken and limits differ in length
--- @error  RLSTATE                                 a key holds data that its library did not write
local function refund(bucket, challenges, limits, limits_state, weight, at_us, age_us, receipt, reservation, challenge, payload,
    taken, expires_us, holder, budgets, budgets_charges)
  if receipt and not receipt_set.admitted_us(bucket, receipt) then
    return false
  end
  -- First read everything, so that unreadable data is reported before anything is written.
  local clock_us = clock.now_us()
  if expires_us and clock_us >= expires_us then
    return false
  end
  -- A quota whose periods do not contain the clock's time has nothing to refund.
  local counting, states, numbers = {}, {}, {}
  for i = 1, #limits do
    if limits[i].kind ~= 'quota' or kind_quota.covers(limits[i], clock_us) then
      local place = #counting + 1
      counting[place] = limits[i]
      states[place] = limits_state[i]
      numbers[place] = i
    end
  end
  local rows, no_limits = limit_rows.check(counting, states, weight, false, false, clock_us, numbers, holder)
  if not rows then
    return nil, no_limits
  end
  local outcome, record
  if challenge and challenges then
    outcome, record = challenge_record.check(challenges, challenge, payload, clock_us)
    if not outcome then
      return nil, record
    end
  end
  local failure = accounts.cancel(budgets, budgets_charges, reservation or '', clock_us)
  if failure then
    return nil, failure
  end
  for i = 1, #counting do
    local row, left_us = counting[i], taken[numbers[i]].left_us
    -- A shadow limit has charged nothing of a cost that it can never allow.
    if left_us > 0 and row.cost > 0 and rows[i].cost <= row.most then
      row.refund(row, states[i], rows[i].cost, left_us, age_us, at_us or 0, clock_us, holder or '')
    end
  end
  if challenge and challenges and outcome == 'replayed' then
    challenge_record.reopen(challenges, challenge, record, payload)
  end
  if receipt then
    receipt_set.forget(bucket, receipt)
  end
  return true
end
