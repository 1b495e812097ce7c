--- Decides a request by its subject's block and limits, as admit does where a request has nothing else: for much less.
---
--- A block that holds refuses whatever else. A receipt that was admitted less than dedup ago is allowed, and nothing is charged.
--- Else every limit has to allow, and then each is charged. A refused call writes nothing. Keys, receipts and limits are those
--- of admit, and give_back takes back what a call took.
---
--- A shadow limit is told and never refuses; it is charged where it allows. The tick of retry_after is that of whatever waits
--- longest.
--- @use clock block_state receipt_set limit_set limit_marks
--- @key    bucket         zset[checked]            the receipts that were admitted, by time; each limit has a key of its own
--- @key    block          string[block]            the subject's block: it holds while the key is there
--- @arg    receipt        text[224]?               the request's own ID; without one each call counts
--- @arg    dedup          duration[1us..3650d]=10s how long a receipt is known
--- @arg    limits         group[0..16]             limits, as of ratelimit.check
--- @arg    limits.name    text[64]                 the limit's name: minute
--- @arg    limits.kind    enum(sliding_log,sliding_counter,fixed_window,gcra) how it counts, as the function of that name
--- @key    limits.state   any[<kind>:<name>]       what the limit keeps: a list for a sliding_log, else a string
--- @arg    limits.limit   count[1..1000000]        most that is taken in a window; of a gcra tokens gained in a period
--- @arg    limits.window  duration[1us..3650d]     length of the window, at most 90 days of a sliding_counter; of a gcra the period
--- @arg    limits.burst   count[1..1000000]?       most tokens that a gcra holds; limit when absent. For a gcra only
--- @arg    limits.cost    count[0..1000000]=1      how much to take; 0 only looks. A sliding_log counts requests: 0 or 1
--- @arg    limits.shadow  bool?                    whether the limit only tells what it would do
--- @result allowed        bool                     whether the request may pass
--- @result duplicate      bool                     whether its receipt was known, so that nothing was taken
--- @result reason         enum(none,blocked,limit) why not; none when allowed
--- @result tier           count[0..8]              the tier that started the block; 0 when none did, and when blocked by hand
--- @result retry_after    duration                 the longest wait of all that refuse; 0 when allowed
--- @result limits         group                    an answer for each limit, in the order of the call; none when blocked
--- @result limits.allowed bool                     whether this limit allows; another one may have refused the call
--- @result limits.remaining count[0..1000000]      what is left after the call: 7 when 3 of 10 are taken
--- @result limits.reset_after duration             wait until the limit is as new; 0 when it is
--- @result limits.retry_after duration             wait until this limit allows; 0 when it does
--- @result limits.mark    count                    what give_back needs to find what was taken; 0 when nothing was
--- @error  RLARG                                   two limits of one kind and name, or a limit's arguments contradict each other
--- @error  RLSTATE                                 a key holds what its library does not write
local function admit_by_limits(bucket, block, receipt, dedup_us, limits)
  local left_ms, blocked_by = block_state.read(block)
  if not left_ms then
    return nil, blocked_by
  end
  if left_ms > 0 then
    return false, false, 'blocked', blocked_by, left_ms * 1000, {}
  end
  local clock_us = clock.now_us()
  local rows, refused, wait_us = limit_set.judge(limits, clock_us)
  if not rows then
    return nil, refused
  end
  if receipt and receipt_set.knows(bucket, receipt, clock_us, dedup_us) then
    return true, true, 'none', 0, 0, limit_set.pass(rows)
  end
  if refused > 0 then
    return false, false, 'limit', 0, wait_us, rows
  end
  local costs = limit_set.charge(limits, rows, clock_us)
  limit_marks.note(limits, rows, clock_us)
  -- A call that takes nothing must not let a later one pass for nothing.
  if receipt and costs then
    receipt_set.add(bucket, receipt, clock_us, dedup_us, 0)
  end
  return true, false, 'none', 0, 0, rows
end
