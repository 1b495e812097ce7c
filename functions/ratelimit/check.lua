--- Decides up to 16 limits of a subject together: all allow and all are charged, or none is.
---
--- A refused call writes nothing: the minute's limit is not charged for a request that the hour's refuses. A limit counts as
--- the function of its kind does, in a key of its own: the same kind and name is the same limit in every call.
---
--- A receipt is the request's own ID. One that was counted less than dedup ago is allowed, whatever the limits say, and not
--- counted again. It is the subject's, not a limit's: calls with other limits know it too. The tick of retry_after is that
--- of the limit that waits longest. Calls may give a limit another window, limit, burst or dedup, as the functions of its kind.
--- @use clock limit_set receipt_set
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
--- @result allowed        bool                     whether every limit allowed, so that every cost was taken
--- @result duplicate      bool                     whether the receipt was known, so that nothing was taken
--- @result refused        count[0..16]             how many limits refused: 1 of 2; 0 when allowed
--- @result retry_after    duration                 wait until every limit allows: the longest of their waits; 0 when allowed
--- @result limits         group                    an answer for each limit, in the order of the call
--- @result limits.allowed bool                     whether this limit allowed; another one may have refused the call
--- @result limits.remaining count[0..1000000]      what is left after the call: 7 when 3 of 10 are taken
--- @result limits.reset_after duration             wait until the limit is as new; 0 when it is
--- @result limits.retry_after duration             wait until this limit allows; 0 when it does
--- @error  RLARG                                   two limits of one kind and name, or a limit's arguments contradict each other
--- @error  RLSTATE                                 the key of a limit holds what its kind does not keep
local function check(bucket, limits, receipt, dedup_us)
  local clock_us = clock.now_us()
  local all, refused, wait_us = limit_set.judge(limits, clock_us)
  if not all then
    return nil, refused
  end
  local known_us = dedup_us
  if receipt and not known_us then
    known_us = limit_set.longest_us(limits)
  end
  if receipt and receipt_set.knows(bucket, receipt, clock_us, known_us) then
    return true, true, 0, 0, limit_set.pass(all)
  end
  if refused > 0 then
    return false, false, refused, wait_us, all
  end
  local costs = limit_set.charge(limits, all, clock_us)
  -- A call that takes nothing must not let a later one pass for nothing.
  if receipt and costs then
    receipt_set.add(bucket, receipt, clock_us, known_us, 0)
  end
  return true, false, 0, 0, all
end
