--- Decides up to 16 limits together, of one subject or of several: all allow and all are charged, or none is.
---
--- A refused call writes nothing: the minute's limit is not charged for a request that the hour's refuses. A limit counts as
--- the function of its kind does, in a key of its own: the same kind and name is the same limit in every call.
---
--- A receipt is the request's own ID. One that was counted less than dedup ago is allowed, whatever the limits say, and not
--- counted again but by global limits. It is the subject's, not a limit's: calls with other limits know it too. The tick of
--- retry_after is that of the limit that waits longest. Calls may give a limit another window, limit, burst or dedup, as the
--- functions of its kind.
--- @use clock limit limit_set receipt_set
--- @key    bucket         zset[checked]            the receipts that were counted, by time; each limit has a key of its own
--- @arg    limits         packed(limit)[1..16]     limits that are decided together
--- @arg    weight         count[1..1000000]=1      what the request weighs: each cost is multiplied by it, but that of a sliding_log
--- @arg    receipt        text[256]?               the request's own ID; without one each call counts
--- @arg    dedup          duration[1us..3650d]?    how long a receipt is known; the longest window when absent
--- @result allowed        bool                     whether every limit allowed, so that every cost was taken
--- @result duplicate      bool                     whether the receipt was known, so that nothing was taken but of global limits
--- @result refused        count[0..16]             how many limits refused: 1 of 2; 0 when allowed
--- @result retry_after    duration                 wait until every limit allows: the longest of their waits; 0 when allowed
--- @result limits         group(limit)             an answer for each limit, in the order of the call
--- @error  RLARG                                   two rows are one limit, or a limit's arguments contradict each other
--- @error  RLSTATE                                 the key of a limit holds what its kind does not keep
local function check(bucket, limits, limits_state, weight, receipt, dedup_us)
  if not receipt then
    local taken, against, longest_us = limit_set.judge(limits, limits_state, weight, false, true)
    if not taken then
      return nil, against
    end
    return against == 0, false, against, longest_us, taken -- rlfunc:ignore result-type a refusal is not in taken
  end
  local clock_us, known_us = clock.now_us(), dedup_us or limit_set.longest_us(limits)
  local known = receipt_set.knows(bucket, receipt, clock_us, known_us)
  local all, refused, wait_us = limit_set.judge(limits, limits_state, weight, known, false, clock_us)
  if not all then
    return nil, refused -- rlfunc:ignore result-nil limit_set.judge returns nil with a refusal only
  end
  if refused > 0 then
    return false, known, refused, wait_us, all
  end
  local costs = limit_set.charge(limits, limits_state, all, weight, known, clock_us)
  -- A call that takes nothing must not let a later one pass for nothing.
  if costs and not known then
    receipt_set.add(bucket, receipt, clock_us, known_us, 0)
  end
  return true, known, 0, 0, all
end
