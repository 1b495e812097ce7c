--- Charges cost while the use of the last window's length, estimated from two counters, stays within limit.
---
--- Uses constant memory for any limit. The estimate spreads the use of the previous window evenly over it, so its error
--- is how unevenly the calls came. If all of them came at the end of that window, up to twice the limit passes in some
--- span of the window's length. For steady traffic the estimate is off by at most one. A refused call writes nothing.
--- Windows are rounded up to a millisecond, the resolution of retry_after, because the key's expiry is the clock. If the
--- clock is set back, time stands still for the key; if it is set back by more than a window, the key starts empty.
--- Another window is another count. Callers with other limits share it, and each applies its own limit.
--- @use one_limit counter_pair
--- @key    bucket      string[sliding_counter:<window>:<name>] what was used in this window and in the previous one
--- @arg    limit       count[1..1000000000000] most that may be charged in a window's length, by the estimate
--- @arg    window      duration[1ms..3650d] length of the window
--- @arg    name        text[64]?           tells limits of one subject apart that have the same window
--- @arg    cost        count[0..1000000000000]=1 amount to charge; 0 only looks
--- @arg    at_most     bool?               whether to charge as much as is left, up to cost: for consumers that take work in batches
--- @must   cost <= limit or at_most: it can never be allowed
--- @result allowed     bool                whether cost was charged; with at_most, whether anything was
--- @result remaining   count[0..1000000000000] what is left after the call: 7 when 3 of 10 are used
--- @result reset_after duration            wait until nothing counts: two windows right after the first call; 0 when nothing does
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @result taken       count[0..1000000000000] the amount charged: cost, or 3 when 3 were left and at_most is set; 0 when refused
--- @result at          time                when it was decided, for refund; the epoch unless at_most is set
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds data that is not a pair of counts, or never expires
local function sliding_counter(bucket, limit, window_us, name, cost, at_most)
  local row, refused = one_limit.row(counter_pair, limit, window_us)
  if not row then
    return nil, refused
  end
  local one, failure = one_limit.take(row, bucket, cost, at_most)
  if not one then
    return nil, failure
  end
  return one.allowed, one.remaining, one.reset_after_us, one.retry_after_us, one.taken, one.at_us
end
