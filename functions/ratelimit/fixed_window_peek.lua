--- Returns what fixed_window would return, and writes nothing.
--- @use fixed_window_count
--- @flags  no-writes
--- @key    bucket      string[window]      what the subject used in this window
--- @arg    limit       count[1..1000000000000] most that may be charged in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @arg    cost        count[0..1000000000000]=1 amount that would be charged
--- @must   cost be at most limit: it can never be allowed
--- @result allowed     bool                whether cost would be charged
--- @result remaining   count[0..1000000000000] what is left now: 10 of 10 before the first call
--- @result reset_after duration            wait until the window ends; 0 when none is active
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds data that is not a count, or never expires
local function fixed_window_peek(bucket, limit, window_us, cost)
  local allowed, left, reset_us, wait_us = fixed_window_count.check(bucket, limit, math.ceil(window_us / 1000), cost)
  if allowed == nil then
    return nil, left
  end
  return allowed, left, reset_us, wait_us
end
