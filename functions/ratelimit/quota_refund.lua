--- Refunds cost to the period that the server's clock is in, as if it had not been charged.
---
--- Refunds at most what was charged in this period; charges of an ended period are already forgotten. Every call refunds: a caller that
--- retries refunds twice. Other periods that share the bucket keep the charge until they end.
--- @use clock quota_count
--- @key    bucket      string[quota]       what the subject used in this period
--- @arg    limit       count[1..1000000000000] most that may be charged in a period
--- @arg    previous    time                when the period before starts
--- @arg    start       time                when the period starts that the caller is in
--- @arg    next        time                when the next period starts
--- @arg    after       time                when the one after that starts
--- @arg    cost        count[1..1000000000000]=1 amount to refund
--- @arg    expires     time?               when the refund expires, from the call's result: from then on, nothing is refunded
--- @must   previous be below start
--- @must   start be below next
--- @must   next be below after
--- @must   after be at most previous + 3650d
--- @must   previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   after be above now: the caller's clock is more than a period behind the server's
--- @result refunded    count[0..1000000000000] amount that was refunded: 2 of 5 when 2 were charged; 0 when none was
--- @result remaining   count[0..1000000000000] what is left after the call: 8 when 2 of 10 are still used
--- @result reset_after duration            wait until the period ends; 0 when nothing is used in it
--- @error  RLARG                           boundaries do not ascend, or the server's time is outside of them
--- @error  RLSTATE                         the key holds data that is not the use of periods
local function quota_refund(bucket, limit, previous_us, start_us, next_us, after_us, cost, expires_us)
  local boundaries = quota_count.boundaries(previous_us, start_us, next_us, after_us, false)
  local now_us = clock.now_us()
  if expires_us and now_us >= expires_us then
    cost = 0
  end
  return quota_count.refund(bucket, limit, boundaries, cost, now_us)
end
