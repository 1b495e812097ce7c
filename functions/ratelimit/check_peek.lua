--- Tells what check would answer, and changes nothing.
--- @use clock limit_set receipt_set
--- @flags  no-writes
--- @key    bucket         zset[checked]            the receipts that were counted, by time; each limit has a key of its own
--- @arg    limits         group[1..16]             limits that are decided together
--- @arg    limits.name    text[64]                 the limit's name: minute
--- @arg    limits.kind    enum(sliding_log,sliding_counter,fixed_window,gcra) how it counts, as the function of that name
--- @key    limits.state   any[<kind>:<name>]       what the limit keeps: a list for a sliding_log, else a string
--- @arg    limits.limit   count[1..1000000]        most that is taken in a window; of a gcra tokens gained in a period
--- @arg    limits.window  duration[1us..3650d]     length of the window, at most 90 days of a sliding_counter; of a gcra the period
--- @arg    limits.burst   count[1..1000000]?       most tokens that a gcra holds; limit when absent. For a gcra only
--- @arg    limits.cost    count[0..1000000]=1      how much to take; 0 only looks. A sliding_log counts requests: 0 or 1
--- @arg    receipt        text[256]?               the request's own ID; without one each call counts
--- @arg    dedup          duration[1us..3650d]?    how long a receipt is known; the longest window when absent
--- @result allowed        bool                     whether every limit would allow
--- @result duplicate      bool                     whether the receipt is known
--- @result refused        count[0..16]             how many limits would refuse: 1 of 2; 0 when allowed
--- @result retry_after    duration                 wait until every limit allows: the longest of their waits; 0 when allowed
--- @result limits         group                    an answer for each limit, in the order of the call
--- @result limits.allowed bool                     whether this limit would allow
--- @result limits.remaining count[0..1000000]      what is left now: 10 of 10 before the first call
--- @result limits.reset_after duration             wait until the limit is as new; 0 when it is
--- @result limits.retry_after duration             wait until this limit allows; 0 when it does
--- @error  RLARG                                   two limits of one kind and name, or a limit's arguments contradict each other
--- @error  RLSTATE                                 the key of a limit holds what its kind does not keep
local function check_peek(bucket, limits, receipt, dedup_us)
  local clock_us = clock.now_us()
  local all, refused, wait_us = limit_set.judge(limits, clock_us)
  if not all then
    return nil, refused
  end
  if receipt and receipt_set.knows(bucket, receipt, clock_us, dedup_us or limit_set.longest_us(limits)) then
    return true, true, 0, 0, limit_set.pass(all)
  end
  return refused == 0, false, refused, wait_us, all
end
