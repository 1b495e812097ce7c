--- Decides up to 16 limits together, for one subject or several: all are charged, or none.
---
--- A refused call writes nothing: the minute's limit is not charged for a request that the hour's limit refuses. Each
--- limit counts as the function of its kind does, in a key of its own. The same kind and name is the same limit in
--- every call.
---
--- A receipt is the request's own ID. A receipt that was counted less than dedup ago is allowed whatever the limits
--- say, and only global limits count it again. Receipts belong to the subject, not to a limit, so calls with other
--- limits recognize them. The resolution of retry_after is that of the limit with the longest wait. Calls may change a
--- limit's window, limit, burst or dedup, as for the functions of its kind.
--- @use clock limit limit_rows receipt_set
--- @key    bucket         zset[checked]            receipts that were counted, by time; each limit has its own key
--- @arg    limits         packed(limit)[1..16]     limits that are decided together
--- @arg    weight         count[1..1000000000000]=1 multiplies every cost except that of a sliding_log
--- @arg    receipt        text[256]?               the request's own ID; without one, every call counts
--- @arg    dedup          duration[1us..3650d]?    how long a receipt is known; the longest window when omitted
--- @must   limits differ in kind or name: two rows would be one limit
--- @must   limits.kind not be concurrency: it needs a holder
--- @must   limits.previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   limits.after be above now: the caller's clock is more than a period behind the server's
--- @result allowed        bool                     whether every limit allowed the call, so that every cost was charged
--- @result duplicate      bool                     whether the receipt was known, so that only global limits were charged
--- @result refused        count[0..16]             number of limits that refused: 1 of 2; 0 when allowed
--- @result retry_after    duration                 wait until every limit allows the call: the longest of their waits; 0 when allowed
--- @result limits         group(limit)             one result per limit, in the order of the call
--- @error  RLARG                                   two rows are the same limit, or a limit's arguments contradict each other
--- @error  RLSTATE                                 a limit's key holds data that its kind did not write
local function check(bucket, limits, limits_state, weight, receipt, dedup_us)
  if not receipt then
    local taken, against, longest_us = limit_rows.check(limits, limits_state, weight, false, true)
    if not taken then
      return nil, against
    end
    return against == 0, false, against, longest_us, taken
  end
  local clock_us, known_us = clock.now_us(), dedup_us or limit_rows.longest_us(limits)
  local known = receipt_set.knows(bucket, receipt, clock_us, known_us)
  local all, refused, wait_us = limit_rows.check(limits, limits_state, weight, known, false, clock_us)
  if not all then
    return nil, refused
  end
  if refused > 0 then
    return false, known, refused, wait_us, all
  end
  local any_cost = limit_rows.charge(limits, limits_state, all, known, clock_us)
  -- A call that charges nothing must not give a later one a free pass.
  if any_cost and not known then
    receipt_set.add(bucket, receipt, clock_us, known_us, 0)
  end
  return true, known, 0, 0, all
end
