--- Charges as much as is left of a window's limit, up to most: for consumers that take work in batches.
---
--- The window is that of fixed_window with the same length. Refund what was not used with fixed_window_refund and
--- expires.
--- @use clock fixed_window_count
--- @key    bucket      string[window]      what the subject used in this window
--- @arg    limit       count[1..1000000000000] most that may be charged in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @arg    most        count[1..1000000000000] most to charge; more than limit charges at most limit
--- @result allowed     bool                whether anything was charged
--- @result taken       count[0..1000000000000] the amount charged: 3 when 3 were left and most is 10
--- @result remaining   count[0..1000000000000] what is left after the call
--- @result reset_after duration            wait until the window ends; 0 when none is active
--- @result retry_after duration            wait until anything would be charged, exact to the millisecond; 0 when allowed
--- @result expires     time                when the window ends: a refund must come before; the epoch unless allowed
--- @error  RLSTATE                         the key holds data that is not a count, or never expires
local function fixed_window_at_most(bucket, limit, window_us, most)
  local window_ms = math.ceil(window_us / 1000)
  local allowed, left, reset_us, wait_us, windows = fixed_window_count.check(bucket, limit, window_ms, 1)
  if allowed == nil then
    return nil, left
  elseif not allowed then
    return false, 0, left, reset_us, wait_us, 0
  end
  local cost, now_us = math.min(most, left), clock.now_us()
  reset_us = fixed_window_count.charge(bucket, cost, window_ms, reset_us, windows)
  return true, cost, left - cost, reset_us, 0, now_us - now_us % 1000 + reset_us
end
