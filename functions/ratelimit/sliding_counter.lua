--- Takes cost while what was taken in the last window's length, estimated from two counters, stays within limit.
---
--- Constant memory for any limit. What the window before took is spread evenly over it, so the estimate is wrong by how
--- unevenly it came: if all of it came at the end of that window, up to twice the limit passes in some span of the window's
--- length; for steady traffic it is right to one. A refused call writes nothing, and a cost of 0 only looks. The tick of
--- retry_after is a millisecond, and a window is rounded up to one: the key's expiry is the clock.
---
--- A clock that is set back stands still for the key; where the key would then last for more than three windows, rounded up
--- to a power of two milliseconds, it starts anew. Calls with other limits may share the bucket, and each is held to its own:
--- what a longer window took counts in full while it lasts, and what a shorter one took is of the window before.
--- @use window_pair
--- @key    bucket      string[counter]     what was taken in this window and in the one before it
--- @arg    limit       count[1..1000000]   most that is taken in a window's length, by the estimate
--- @arg    window      duration[1us..90d]  length of the window
--- @arg    cost        count[0..1000000]=1 how much to take; 0 only looks
--- @result allowed     bool                whether cost was taken
--- @result remaining   count[0..1000000]   what is left after the call: 7 when 3 of 10 are taken
--- @result reset_after duration            wait until all is forgotten: two windows right after the first call; 0 when nothing is kept
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds no pair of counts, or never expires
local function sliding_counter(bucket, limit, window_us, cost)
  local window_ms = math.ceil(window_us / 1000)
  local allowed, left, wait_us, reset_us, gone_ms, moved = window_pair.judge(bucket, limit, window_ms, cost)
  if allowed == nil then
    return nil, left
  end
  if allowed and cost > 0 then
    return true, left, window_pair.charge(bucket, cost, window_ms, gone_ms, moved), 0
  end
  return allowed, left, reset_us, wait_us
end
