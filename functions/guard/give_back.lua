--- Gives back what one admit took, as if the request had not come; its attempt stays.
---
--- A receipt gives back once: one that is not known does nothing. Without one each call gives back: a caller that retries gives
--- back twice. What counts no more is not given back, nor what is settled.
--- @use clock receipt_set limit_set limit_marks reserving challenge_record
--- @key    bucket         zset[checked]            the receipts that were admitted, by time; each limit has a key of its own
--- @key    challenges     hash[challenges]         the subject's challenges by token
--- @key    charges        hash[charges]            the subject's charges
--- @arg    receipt        text[224]?               the receipt that was admitted
--- @arg    limits         group[0..16]             the limits of the call
--- @arg    limits.name    text[64]                 the limit's name
--- @arg    limits.kind    enum(sliding_log,sliding_counter,fixed_window,gcra) how it counts
--- @key    limits.state   any[<kind>:<name>]       what the limit keeps
--- @arg    limits.limit   count[1..1000000]        as in the call
--- @arg    limits.window  duration[1us..3650d]     as in the call
--- @arg    limits.burst   count[1..1000000]?       as in the call
--- @arg    limits.cost    count[0..1000000]=1      what the call took
--- @arg    limits.mark    count[0..9007199254740991] the mark in the call's answer; 0 gives nothing back
--- @arg    reservation    text[256]?               the reservation in the call's answer, which is cancelled
--- @arg    challenge      text[128]?               the challenge that the call consumed, which can be consumed again
--- @arg    payload        text[1024]?              what it was issued for, as in the call
--- @result given_back     bool                     whether it was done; not when the receipt is not known
--- @error  RLARG                                   limits that no call could have
--- @error  RLSTATE                                 a key holds what its library does not write
local function give_back(bucket, challenges, charges, receipt, limits, reservation, challenge, payload)
  if receipt and not receipt_set.admitted_us(bucket, receipt) then
    return false
  end
  -- What can not be read refuses before anything is written.
  local clock_us = clock.now_us()
  local rows, no_limits = limit_set.judge(limits, clock_us)
  if not rows then
    return nil, no_limits
  end
  local outcome, record
  if challenge then
    outcome, record = challenge_record.judge(challenges, challenge, payload, clock_us)
    if not outcome then
      return nil, record
    end
  end
  if reservation then
    local cancelled, failure = reserving.cancel(charges, reservation, clock_us)
    if not cancelled then
      return nil, failure
    end
  end
  for i = 1, #limits do
    limit_marks.give_back(limits[i], clock_us)
  end
  if outcome == 'replayed' then
    challenge_record.reopen(challenges, challenge, record, payload)
  end
  if receipt then
    receipt_set.forget(bucket, receipt)
  end
  return true
end
