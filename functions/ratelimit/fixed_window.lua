--- Charges cost while at most limit is charged in the window, which begins with the first call.
---
--- The cheapest limiter and the least precise: limit can pass just before a window ends and again just after it. So up
--- to twice the limit passes in some span of the window's length. A refused call writes nothing, and a cost of 0
--- charges nothing. Windows are rounded up to a millisecond, the resolution of retry_after, because the key's expiry is
--- the window's end. If the clock is set back, the window lasts that much longer. If it is set back by more than a
--- window, a new one begins.
---
--- Callers with other limits and windows may share the bucket: each window length has a window of its own, and every
--- charge counts in all of them. A window of a new length begins with the oldest active window that began within that
--- length. The bucket keeps eight lengths. A ninth replaces the length whose caller was admitted longest ago, and all
--- are forgotten when no window is active.
--- @use fixed_window_count
--- @key    bucket      string[window]      what the subject used in this window
--- @arg    limit       count[1..1000000000000] most that may be charged in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @arg    cost        count[0..1000000000000]=1 amount to charge; 0 charges nothing
--- @must   cost be at most limit: it can never be allowed
--- @result allowed     bool                whether cost was charged
--- @result remaining   count[0..1000000000000] what is left after the call: 7 when 3 of 10 are used
--- @result reset_after duration            wait until the window ends; 0 when none is active
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds data that is not a count, or never expires
local function fixed_window(bucket, limit, window_us, cost)
  local window_ms = math.ceil(window_us / 1000)
  local allowed, left, reset_us, wait_us, windows = fixed_window_count.check(bucket, limit, window_ms, cost)
  if allowed == nil then
    return nil, left
  elseif allowed and cost > 0 then
    return true, left - cost, fixed_window_count.charge(bucket, cost, window_ms, reset_us, windows), 0
  end
  return allowed, left, reset_us, wait_us
end
