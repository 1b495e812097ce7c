--- Refunds cost to the active window, as if it had not been charged.
---
--- Refunds at most what was charged in this window; charges of an ended window are already forgotten. When nothing is
--- left, the window is forgotten. Every call refunds: a caller that retries refunds twice. Windows of other lengths are
--- refunded if they began no later than this one, because the charge certainly counted there.
--- @use clock fixed_window_count
--- @key    bucket      string[window]      what the subject used in this window
--- @arg    limit       count[1..1000000000000] most that may be charged in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @arg    cost        count[1..1000000000000]=1 amount to refund
--- @arg    expires     time?               when the refund expires, from the call's result: from then on, nothing is refunded
--- @result refunded    count[0..1000000000000] amount that was refunded: 2 of 5 when 2 were charged; 0 when none was
--- @result remaining   count[0..1000000000000] what is left after the call: 8 when 2 of 10 are still used
--- @result reset_after duration            wait until the window ends; 0 when none is active
--- @error  RLSTATE                         the key holds data that is not a count, or never expires
local function fixed_window_refund(bucket, limit, window_us, cost, expires_us)
  if expires_us and clock.now_us() >= expires_us then
    cost = 0
  end
  return fixed_window_count.refund(bucket, limit, math.ceil(window_us / 1000), cost)
end
