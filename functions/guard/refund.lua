--- Refunds what one admit call charged, as if the request had not come; its attempt remains.
---
--- A receipt is refunded once; an unknown one does nothing. It is known for the call's dedup, 10 s by default: to refund a
--- request that may take longer, give its admission a longer dedup, or refund without the receipt. Without a receipt every
--- call refunds, so a caller that retries refunds twice. Charges that no longer count are not refunded. What was reserved of budgets is
--- given back by settle.
--- @use clock limit limit_refund challenge_record
--- @key    known          string[receipt:<receipt>] the receipt, if it was admitted; each limit has its own key
--- @key    challenges     hash[challenges]?challenge.of the subject's challenges, by token
--- @arg    limits         group(limit)[0..16]     limits of the call
--- @arg    weight         count[1..1000000000000]=1 as in the call
--- @arg    at             time?                    when the call was decided, from its result
--- @arg    age            duration[0us..]=0us      where the call did not say when: how long ago it was sent
--- @arg    receipt        text[224]?               receipt that was admitted
--- @arg    challenge      text[128]?               challenge that the call consumed, which becomes usable again
--- @arg    payload        text[1024]?              what it was issued for, as in the call
--- @arg    taken          group[0..16]             what the call returned, one row per limit
--- @arg    taken.left     duration[0us..]          the limit's reset_after; 0 refunds nothing
--- @arg    holder         text[64]?                as in the call: required with a limit of kind concurrency
--- @must   #taken == #limits: each limit took something
--- @result refunded     bool                     whether anything was given back: nothing is if the receipt is unknown
--- @error  RLARG                                   limits that no call could have, or taken and limits differ in length
--- @error  RLSTATE                                 a key holds data that its library did not write
local function refund(known, challenges, limits, limits_state, weight, at_us, age_us, receipt, challenge, payload, taken, holder)
  local now_us, outcome, record = clock.now_us(), nil, nil
  if receipt and not redis.call('GET', known) then
    return false
  end
  if challenge and challenges then -- read it before anything is written
    outcome, record = challenge_record.check(challenges, challenge, payload, now_us)
    if not outcome then
      return nil, record
    end
  end
  local ends_us, no_limits = limit_refund.charged(limits, limits_state, weight, at_us or now_us - age_us, taken, now_us, holder or '')
  if not ends_us then
    return nil, no_limits
  end
  local refunded = limit_refund.give_back(limits, limits_state, weight, ends_us, now_us, holder or '')
  if challenge and challenges and outcome == 'replayed' then
    challenge_record.reopen(challenges, challenge, record, payload)
  end
  if receipt then
    redis.call('DEL', known)
  end
  return refunded or receipt ~= nil or outcome == 'replayed'
end
