--- Returns what sliding_counter would return, and writes nothing.
--- @use counter_pair
--- @flags  no-writes
--- @key    bucket      string[counter]     what was used in this window and in the previous one
--- @arg    limit       count[1..1000000000000] most that may be charged in a window's length, by the estimate
--- @arg    window      duration[1us..90d]  length of the window
--- @arg    cost        count[0..1000000000000]=1 amount that would be charged
--- @must   cost be at most limit: it can never be allowed
--- @result allowed     bool                whether cost would be charged
--- @result remaining   count[0..1000000000000] what is left now: 10 of 10 before the first call
--- @result reset_after duration            wait until nothing counts; 0 when nothing does
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds data that is not a pair of counts, or never expires
local function sliding_counter_peek(bucket, limit, window_us, cost)
  local allowed, left, reset_us, wait_us = counter_pair.check(bucket, limit, math.ceil(window_us / 1000), cost)
  if allowed == nil then
    return nil, left
  end
  return allowed, left, reset_us, wait_us
end
