--- Gives cost back to the window that is going on, as if it had not been taken.
---
--- Never more than was taken in this window: what was taken in one that has ended is gone with it. When nothing is left
--- taken the window has not begun. Each call gives back: a caller that retries gives back twice. Windows of other lengths get it
--- back if they began no later than this one: in those it surely counted.
--- @use window_count
--- @key    bucket      string[window]      what the subject took in this window
--- @arg    limit       count[1..1000000]   most that is taken in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @arg    cost        count[1..1000000]=1 how much to give back
--- @result refunded    count[0..1000000]   how much was given back: 2 of 5 when 2 were taken; 0 when nothing was
--- @result remaining   count[0..1000000]   what is left after the call: 8 when 2 of 10 are taken still
--- @result reset_after duration            wait until the window ends; 0 when none is going on
--- @error  RLSTATE                         the key holds no count, or never expires
local function fixed_window_refund(bucket, limit, window_us, cost)
  local refunded, taken, end_us = window_count.refund(bucket, math.ceil(window_us / 1000), cost)
  if not refunded then
    return nil, taken
  end
  return refunded, math.max(limit - taken, 0), end_us
end
