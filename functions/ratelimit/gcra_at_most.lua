--- Takes as many tokens from a bucket as there are, up to most: for consumers that take work in batches.
---
--- The bucket is that of gcra with the same limit, and a call that takes n tokens leaves what n calls of gcra would.
--- Refund the tokens that were not used with gcra_refund and expires.
--- @use clock token_bucket
--- @key    bucket      string[gcra]        the subject's bucket: when it will be full
--- @arg    limit       count[1..1000000000000] tokens gained per period
--- @arg    period      duration[1us..3650d] time in which limit tokens are gained
--- @arg    burst       count[1..1000000000000]? most tokens the bucket holds; limit when omitted
--- @arg    most        count[1..1000000000000] most tokens to take; more than burst takes at most burst
--- @must   burst * period be at most limit * 36500d: a bucket must fill within 100 years
--- @result allowed     bool                whether any token was taken
--- @result taken       count[0..1000000000000] tokens taken: 3 when there were 3 and most is 10
--- @result remaining   count[0..1000000000000] whole tokens left after the call
--- @result reset_after duration            wait until the bucket is full; 0 when it is
--- @result retry_after duration            wait until there is a token; 0 when allowed
--- @result expires     time                when the bucket is full if no more is taken: a refund must come before; the epoch unless
---     allowed
--- @error  RLARG                           burst takes longer than 100 years to gain
--- @error  RLSTATE                         the key holds data that is not a bucket, or never expires
local function gcra_at_most(bucket, limit, period_us, burst, most)
  burst = burst or limit
  local now_us, cost, interval_ms = clock.now_us(), math.min(most, burst), token_bucket.interval_ms(limit, period_us, burst)
  local allowed, left, full_us, wait_us = token_bucket.take(bucket, interval_ms, limit, period_us, burst, cost, now_us)
  if allowed == false and cost > 1 then
    cost = math.max(left, 1)
    allowed, left, full_us, wait_us = token_bucket.take(bucket, interval_ms, limit, period_us, burst, cost, now_us)
  end
  if allowed == nil then
    return nil, left
  elseif not allowed then
    return false, 0, left, full_us, wait_us, 0
  end
  return true, cost, left, full_us, 0, now_us - now_us % 1000 + full_us
end
