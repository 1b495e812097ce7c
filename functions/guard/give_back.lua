--- Gives back what one admit took, as if the request had not come; its attempt stays.
---
--- A receipt gives back once: one that is not known does nothing. Without one each call gives back: a caller that retries gives
--- back twice. What counts no longer is not given back, nor what is settled.
--- @use clock receipt_set limit limit_set reserving challenge_record refusal
--- @key    bucket         zset[checked]            the receipts that were admitted, by time; each limit has a key of its own
--- @key    challenges     hash[challenges]?challenge.of the subject's challenges by token
--- @key    charges        hash[charges]?reservation.of the subject's charges
--- @arg    limits         packed(limit)[0..16]     the limits of the call
--- @arg    weight         count[1..1000000]=1      as in the call
--- @arg    at             time?                    the answer's at
--- @arg    age            duration[0us..]=0us      how long ago the call was sent: what has lapsed since is not given back
--- @arg    receipt        text[224]?               the receipt that was admitted
--- @arg    reservation    text[256]?               the reservation in the call's answer, which is cancelled
--- @arg    challenge      text[128]?               the challenge that the call consumed, which can be consumed again
--- @arg    payload        text[1024]?              what it was issued for, as in the call
--- @arg    taken          group[0..16]             what the call answered, a row for each limit
--- @arg    taken.left     duration[0us..]          the limit's reset_after; 0 gives nothing back
--- @result given_back     bool                     whether it was done; not when the receipt is not known
--- @error  RLARG                                   limits that no call could have, or taken has not as many rows as limits
--- @error  RLSTATE                                 a key holds what its library does not write
local function give_back(bucket, challenges, charges, limits, limits_state, weight, at_us, age_us, receipt, reservation, challenge, payload,
    taken)
  if #taken ~= #limits then
    return nil, refusal.argument('taken must have as many rows as limits')
  end
  if receipt and not receipt_set.admitted_us(bucket, receipt) then
    return false
  end
  -- What can not be read refuses before anything is written.
  local clock_us = clock.now_us()
  local rows, no_limits = limit_set.judge(limits, limits_state, weight, false, false, clock_us)
  if not rows then
    return nil, no_limits
  end
  local outcome, record
  if challenge and challenges then
    outcome, record = challenge_record.judge(challenges, challenge, payload, clock_us)
    if not outcome then
      return nil, record
    end
  end
  if reservation and charges then
    local cancelled, failure = reserving.cancel(charges, reservation, clock_us)
    if not cancelled then
      return nil, failure
    end
  end
  for i = 1, #limits do
    local row = limits[i]
    if taken[i].left_us > 0 and row.cost > 0 then
      row.give_back(row, limits_state[i], limit_set.cost_of(row, weight), taken[i].left_us, age_us, at_us or 0, clock_us)
    end
  end
  if outcome == 'replayed' then
    challenge_record.reopen(challenges, challenge, record, payload)
  end
  if receipt then
    receipt_set.forget(bucket, receipt)
  end
  return true
end
