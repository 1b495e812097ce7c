--- Tells what fixed_window would answer, and changes nothing.
--- @use window_count
--- @flags  no-writes
--- @key    bucket      string[window]      what the subject took in this window
--- @arg    limit       count[1..1000000]   most that is taken in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @arg    cost        count[0..1000000]=1 how much would be taken
--- @result allowed     bool                whether cost would be taken
--- @result remaining   count[0..1000000]   what is left now: 10 of 10 before the first call
--- @result reset_after duration            wait until the window ends; 0 when none has begun
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds no count, or never expires
local function fixed_window_peek(bucket, limit, window_us, cost)
  local allowed, left, wait_us, end_us = window_count.judge(bucket, limit, math.ceil(window_us / 1000), cost)
  if allowed == nil then
    return nil, left
  end
  if allowed then
    return true, left + cost, end_us, 0
  end
  return false, left, end_us, wait_us
end
