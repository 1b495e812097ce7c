--- Refunds cost, as if it had not been charged: first what was charged in this window, then in the previous one.
---
--- Refunds at most what was charged in the two. Every call refunds: a caller that retries refunds twice.
--- @use counter_pair
--- @key    bucket      string[counter]     what was used in this window and in the previous one
--- @arg    limit       count[1..1000000000000] most that may be charged in a window's length, by the estimate
--- @arg    window      duration[1us..90d]  length of the window
--- @arg    cost        count[1..1000000000000]=1 amount to refund
--- @result refunded    count[0..1000000000000] amount that was refunded: 2 of 5 when 2 were charged; 0 when none was
--- @result remaining   count[0..1000000000000] what is left after the call: 8 when 2 of 10 are still used
--- @result reset_after duration            wait until nothing counts; 0 when nothing does
--- @error  RLSTATE                         the key holds data that is not a pair of counts, or never expires
local function sliding_counter_refund(bucket, limit, window_us, cost)
  return counter_pair.refund(bucket, limit, math.ceil(window_us / 1000), cost)
end
