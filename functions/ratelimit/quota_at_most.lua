--- Charges as much as is left of a quota, up to most: for consumers that take work in batches.
---
--- The period is that of quota with the same boundaries. Refund what was not used with quota_refund and expires.
--- @use clock quota_count
--- @key    bucket      string[quota]       what the subject used in this period
--- @arg    limit       count[1..1000000000000] most that may be charged in a period
--- @arg    previous    time                when the period before starts
--- @arg    start       time                when the period starts that the caller is in
--- @arg    next        time                when the next period starts
--- @arg    after       time                when the one after that starts
--- @arg    most        count[1..1000000000000] most to charge; more than limit charges at most limit
--- @must   previous be below start
--- @must   start be below next
--- @must   next be below after
--- @must   after be at most previous + 3650d
--- @must   previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   after be above now: the caller's clock is more than a period behind the server's
--- @result allowed     bool                whether anything was charged
--- @result taken       count[0..1000000000000] the amount charged: 3 when 3 were left and most is 10
--- @result remaining   count[0..1000000000000] what is left after the call
--- @result reset_after duration            wait until the period ends; 0 when nothing is used in it
--- @result retry_after duration            wait until anything would be charged, exact to the microsecond; 0 when allowed
--- @result expires     time                when the period ends: a refund must come before; the epoch unless allowed
--- @error  RLARG                           boundaries do not ascend, or the server's time is outside of them
--- @error  RLSTATE                         the key holds data that is not the use of periods
local function quota_at_most(bucket, limit, previous_us, start_us, next_us, after_us, most)
  local boundaries = quota_count.boundaries(previous_us, start_us, next_us, after_us, false)
  local now_us = clock.now_us()
  local allowed, left, left_us, wait_us, place, used, periods = quota_count.check(bucket, limit, boundaries, 1, now_us)
  if allowed == nil then
    return nil, left
  elseif not allowed then
    return false, 0, left, left_us, wait_us, 0
  end
  local cost = math.min(most, left)
  left_us = quota_count.charge(bucket, cost, boundaries, now_us, place, used, periods)
  return true, cost, left - cost, left_us, 0, now_us + left_us
end
