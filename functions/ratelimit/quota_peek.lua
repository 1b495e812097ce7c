--- Returns what quota would return, and writes nothing.
--- @use clock quota_count
--- @flags  no-writes
--- @key    bucket      string[quota]       what the subject used in this period
--- @arg    limit       count[1..1000000000000] most that may be charged in a period
--- @arg    previous    time                when the period before starts
--- @arg    start       time                when the period starts that the caller is in
--- @arg    next        time                when the next period starts
--- @arg    after       time                when the one after that starts
--- @arg    cost        count[0..1000000000000]=1 amount that would be charged
--- @must   previous be below start
--- @must   start be below next
--- @must   next be below after
--- @must   after be at most previous + 3650d
--- @must   previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   after be above now: the caller's clock is more than a period behind the server's
--- @must   cost be at most limit: it can never be allowed
--- @result allowed     bool                whether cost would be charged
--- @result remaining   count[0..1000000000000] what is left now: 10 of 10 before the first call
--- @result reset_after duration            wait until the period ends; 0 when nothing is used in it
--- @result retry_after duration            wait until cost would be allowed, exact to the microsecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit, boundaries do not ascend, or the server's time is outside of them
--- @error  RLSTATE                         the key holds data that is not the use of periods
local function quota_peek(bucket, limit, previous_us, start_us, next_us, after_us, cost)
  local boundaries = quota_count.boundaries(previous_us, start_us, next_us, after_us, false)
  local allowed, left, left_us, wait_us = quota_count.check(bucket, limit, boundaries, cost, clock.now_us())
  if allowed == nil then
    return nil, left
  end
  return allowed, left, left_us, wait_us
end
