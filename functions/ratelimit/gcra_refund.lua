--- Returns cost tokens to a bucket, up to its burst.
---
--- Every call refunds: a caller that retries refunds twice. A bucket that is full again is forgotten.
--- @use clock token_bucket
--- @key    bucket      string[gcra]        the subject's bucket: when it will be full
--- @arg    limit       count[1..1000000000000] tokens gained per period
--- @arg    period      duration[1us..3650d] time in which limit tokens are gained
--- @arg    burst       count[1..1000000000000]? most tokens the bucket holds; limit when omitted
--- @arg    cost        count[1..1000000000000]=1 tokens to return
--- @arg    expires     time?               when the refund expires, from the call's result: from then on, nothing is returned
--- @must   burst * period be at most limit * 36500d: a bucket must fill within 100 years
--- @result refunded    bool                whether the bucket had room for at least one token
--- @result remaining   count[0..1000000000000] whole tokens left after the call: 8 when 2 of 10 are still taken
--- @result reset_after duration            wait until the bucket is full; 0 when it is
--- @error  RLARG                           burst takes longer than 100 years to gain
--- @error  RLSTATE                         the key holds data that is not a bucket, or never expires
local function gcra_refund(bucket, limit, period_us, burst, cost, expires_us)
  burst = burst or limit
  local now_us = expires_us and clock.now_us()
  if expires_us and now_us >= expires_us then
    cost = 0
  end
  return token_bucket.refund(bucket, token_bucket.interval_ms(limit, period_us, burst), limit, period_us, burst, cost, now_us)
end
