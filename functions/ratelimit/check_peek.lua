--- Returns what check would answer, and changes nothing.
--- @use clock limit limit_set receipt_set
--- @flags  no-writes
--- @key    bucket         zset[checked]            the receipts that were counted, by time; each limit has a key of its own
--- @arg    limits         packed(limit)[1..16]     limits that are decided together
--- @arg    weight         count[1..1000000]=1      what the request weighs: each cost is multiplied by it, but that of a sliding_log
--- @arg    receipt        text[256]?               the request's own ID; without one each call counts
--- @arg    dedup          duration[1us..3650d]?    how long a receipt is known; the longest window when absent
--- @result allowed        bool                     whether every limit would allow
--- @result duplicate      bool                     whether the receipt is known
--- @result refused        count[0..16]             how many limits would refuse: 1 of 2; 0 when allowed
--- @result retry_after    duration                 wait until every limit allows: the longest of their waits; 0 when allowed
--- @result limits         group(limit)             an answer for each limit: remaining is what is left now, 10 of 10 before the first call
--- @error  RLARG                                   two rows are one limit, or a limit's arguments contradict each other
--- @error  RLSTATE                                 the key of a limit holds what its kind does not keep
local function check_peek(bucket, limits, limits_state, weight, receipt, dedup_us)
  if not receipt then
    local all, refused, wait_us = limit_set.judge(limits, limits_state, weight, false, false)
    if not all then
      return nil, refused
    end
    return refused == 0, false, refused, wait_us, all
  end
  local clock_us = clock.now_us()
  local known = receipt_set.knows(bucket, receipt, clock_us, dedup_us or limit_set.longest_us(limits))
  local all, refused, wait_us = limit_set.judge(limits, limits_state, weight, known, false, clock_us)
  if not all then
    return nil, refused -- rlfunc:ignore result-nil limit_set.judge returns nil with a refusal only
  end
  return refused == 0, known, refused, wait_us, all
end
