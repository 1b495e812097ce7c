--- Takes cost while no more than limit is taken in the window, which begins with the first call.
---
--- The cheapest of all, and the coarsest: limit just before a window ends and limit just after it begins pass within
--- moments, so up to twice the limit passes in some span of the window's length. A refused call writes nothing, and a
--- cost of 0 only looks. The tick of retry_after is a millisecond, and a window is rounded up to one: the key's expiry is the
--- state. A clock that is set back lengthens the window by as much; one set back by more than a window begins another.
---
--- Callers may share the bucket with other limits and windows: each length has a window of its own, and what any caller takes
--- counts in all. A window of a new length begins with the oldest one that is going on and is inside of it. Of eight lengths the
--- one whose caller was admitted longest ago is forgotten for a ninth; all are when no window is going on.
--- @use window_count
--- @key    bucket      string[window]      what the subject took in this window
--- @arg    limit       count[1..1000000]   most that is taken in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @arg    cost        count[0..1000000]=1 how much to take; 0 only looks
--- @result allowed     bool                whether cost was taken
--- @result remaining   count[0..1000000]   what is left after the call: 7 when 3 of 10 are taken
--- @result reset_after duration            wait until the window ends; 0 when none has begun
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit
--- @error  RLSTATE                         the key holds no count, or never expires
local function fixed_window(bucket, limit, window_us, cost)
  local window_ms = math.ceil(window_us / 1000)
  local allowed, left, wait_us, end_us, windows = window_count.judge(bucket, limit, window_ms, cost)
  if allowed == nil then
    return nil, left
  end
  if allowed and cost > 0 then
    return true, left, window_count.charge(bucket, cost, window_ms, end_us, windows), 0
  end
  return allowed, left, end_us, wait_us
end
