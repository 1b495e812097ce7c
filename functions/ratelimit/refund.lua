--- Gives back what a call charged, as if it had not come: one of check, or with one limit of the function of its kind.
---
--- A receipt is refunded once, and an unknown one does nothing. Without a receipt every call refunds, so a caller that
--- retries refunds twice. What no longer counts is not refunded: say what the call answered in at and taken. Without them
--- the active window gives back at most what was charged in it. A bucket or window that is as new is deleted.
--- @use clock limit limit_refund
--- @key    known          string[receipt:<receipt>] the receipt, if it was counted
--- @arg    limits         group(limit)[1..16]     limits of the call
--- @arg    weight         count[1..1000000000000]=1 as in the call; with at_most, what was taken
--- @arg    receipt        text[256]?               the request's own ID
--- @arg    at             time?                    when the call was decided, from its result
--- @arg    age            duration[0us..]=0us      where the call did not say when: how long ago it was sent
--- @arg    taken          group[0..16]             what the call returned, one row per limit
--- @arg    taken.left     duration[0us..]          the limit's reset_after
--- @must   limits.kind ~= 'concurrency': concurrency.release gives places back
--- @must   #taken == 0 or #taken == #limits: each limit took something
--- @result refunded       bool                     whether anything was given back
--- @error  RLARG                                   limits that no call could have
--- @error  RLSTATE                                 a key holds data that its kind did not write
local function refund(known, limits, limits_state, weight, receipt, at_us, age_us, taken)
  local now_us = clock.now_us()
  if receipt and not redis.call('GET', known) then
    return false
  end
  local ends_us, failure = limit_refund.charged(limits, limits_state, weight, at_us or now_us - age_us, taken, now_us)
  if not ends_us then
    return nil, failure
  end
  if receipt then
    redis.call('DEL', known)
  end
  return limit_refund.give_back(limits, limits_state, weight, ends_us, now_us)
end
