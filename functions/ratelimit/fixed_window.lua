--- Charges cost while at most limit is charged in the window, which begins with the first call.
---
--- The cheapest limiter and the least precise: limit can pass just before a window ends and again just after it. So up
--- to twice the limit passes in some span of the window's length. A refused call writes nothing. Windows are rounded up
--- to a millisecond, the resolution of retry_after, because the key's expiry is the window's end. If the clock is set
--- back, the window lasts that much longer; if it is set back by more than a window, a new one begins. Another window is
--- another count. Callers with other limits share it, and each applies its own limit.
--- @use one_limit window_count
--- @key    bucket      string[fixed_window:<window>:<name>] what the subject used in this window
--- @arg    limit       count[1..1000000000000] most that may be charged in a window
--- @arg    window      duration[1ms..3650d] length of the window
--- @arg    name        text[64]?           tells limits of one subject apart that have the same window
--- @arg    cost        count[0..1000000000000]=1 amount to charge; 0 only looks
--- @arg    at_most     bool?               whether to charge as much as is left, up to cost: for consumers that take work in batches
--- @must   cost <= limit or at_most: it can never be allowed
--- @result allowed     bool                whether cost was charged; with at_most, whether anything was
--- @result remaining   count[0..1000000000000] what is left after the call: 7 when 3 of 10 are used
--- @result reset_after duration            wait until the window ends; 0 when none is active
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @result taken       count[0..1000000000000] the amount charged: cost, or 3 when 3 were left and at_most is set; 0 when refused
--- @result at          time                when it was decided, for refund; the epoch unless at_most is set
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds data that is not a count, or never expires
local function fixed_window(bucket, limit, window_us, name, cost, at_most)
  local row, refused = one_limit.row(window_count, limit, window_us)
  if not row then
    return nil, refused
  end
  local one, failure = one_limit.take(row, bucket, cost, at_most)
  if not one then
    return nil, failure
  end
  return one.allowed, one.remaining, one.reset_after_us, one.retry_after_us, one.taken, one.at_us
end
