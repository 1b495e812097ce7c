--- Gives cost back, as if it had not been taken: first what was taken in this window, then in the one before.
---
--- Never more than was taken in the two. Each call gives back: a caller that retries gives back twice.
--- @use window_pair
--- @key    bucket      string[counter]     what was taken in this window and in the one before it
--- @arg    limit       count[1..1000000]   most that is taken in a window's length, by the estimate
--- @arg    window      duration[1us..90d]  length of the window
--- @arg    cost        count[1..1000000]=1 how much to give back
--- @result refunded    count[0..1000000]   how much was given back: 2 of 5 when 2 were taken; 0 when nothing was
--- @result remaining   count[0..1000000]   what is left after the call: 8 when 2 of 10 are taken still
--- @result reset_after duration            wait until all is forgotten; 0 when nothing is kept
--- @error  RLSTATE                         the key holds no pair of counts, or never expires
local function sliding_counter_refund(bucket, limit, window_us, cost)
  local refunded, taken, reset_us = window_pair.refund(bucket, math.ceil(window_us / 1000), cost)
  if not refunded then
    return nil, taken
  end
  return refunded, math.max(limit - taken, 0), reset_us
end
