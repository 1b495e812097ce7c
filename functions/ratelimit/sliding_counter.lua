--- Charges cost while the use of the last window's length, estimated from two counters, stays within limit.
---
--- Uses constant memory for any limit. The estimate spreads the use of the previous window evenly over it, so its error
--- is how unevenly the calls came. If all of them came at the end of that window, up to twice the limit passes in some
--- span of the window's length. For steady traffic the estimate is off by at most one. A refused call writes nothing,
--- and a cost of 0 charges nothing. Windows are rounded up to a millisecond, the resolution of retry_after, because the
--- key's expiry is the clock.
---
--- If the clock is set back, time stands still for the key. If the key would then last for more than three windows,
--- rounded up to a power of two milliseconds, it starts empty. Calls with other limits may share the bucket, and each
--- applies its own limit. The use of a longer window counts in full while that window lasts; the use of a shorter one
--- counts as that of the previous window.
--- @use counter_pair
--- @key    bucket      string[counter]     what was used in this window and in the previous one
--- @arg    limit       count[1..1000000000000] most that may be charged in a window's length, by the estimate
--- @arg    window      duration[1us..90d]  length of the window
--- @arg    cost        count[0..1000000000000]=1 amount to charge; 0 charges nothing
--- @must   cost be at most limit: it can never be allowed
--- @result allowed     bool                whether cost was charged
--- @result remaining   count[0..1000000000000] what is left after the call: 7 when 3 of 10 are used
--- @result reset_after duration            wait until nothing counts: two windows right after the first call; 0 when nothing does
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds data that is not a pair of counts, or never expires
local function sliding_counter(bucket, limit, window_us, cost)
  local window_ms = math.ceil(window_us / 1000)
  local allowed, left, reset_us, wait_us, elapsed_ms, value, is_current = counter_pair.check(bucket, limit, window_ms, cost)
  if allowed == nil then
    return nil, left
  elseif allowed and cost > 0 then
    return true, left - cost, counter_pair.charge(bucket, cost, window_ms, elapsed_ms, value, is_current), 0
  end
  return allowed, left, reset_us, wait_us
end
