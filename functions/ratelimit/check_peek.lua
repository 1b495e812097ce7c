--- Returns what check would return, and writes nothing.
--- @use clock limit limit_rows receipt_set
--- @flags  no-writes
--- @key    bucket         zset[checked]            receipts that were counted, by time; each limit has its own key
--- @arg    limits         packed(limit)[1..16]     limits that are decided together
--- @arg    weight         count[1..1000000000000]=1 multiplies every cost except that of a sliding_log
--- @arg    receipt        text[256]?               the request's own ID; without one, every call counts
--- @arg    dedup          duration[1us..3650d]?    how long a receipt is known; the longest window when omitted
--- @must   limits differ in kind or name: two rows would be one limit
--- @must   limits.previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   limits.after be above now: the caller's clock is more than a period behind the server's
--- @result allowed        bool                     whether every limit would allow the call
--- @result duplicate      bool                     whether the receipt is known
--- @result refused        count[0..16]             number of limits that would refuse: 1 of 2; 0 when allowed
--- @result retry_after    duration                 wait until every limit allows the call: the longest of their waits; 0 when allowed
--- @result limits         group(limit)             one result per limit: remaining is what is left now, 10 of 10 before the first call
--- @error  RLARG                                   two rows are the same limit, or a limit's arguments contradict each other
--- @error  RLSTATE                                 a limit's key holds data that its kind did not write
local function check_peek(bucket, limits, limits_state, weight, receipt, dedup_us)
  local clock_us, known = clock.now_us(), false
  if receipt then
    known = receipt_set.knows(bucket, receipt, clock_us, dedup_us or limit_rows.longest_us(limits))
  end
  local all, refused, wait_us = limit_rows.check(limits, limits_state, weight, known, false, clock_us, nil, '')
  if not all then
    return nil, refused
  end
  return refused == 0, known, refused, wait_us, all
end
