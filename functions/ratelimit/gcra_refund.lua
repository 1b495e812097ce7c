--- Gives cost tokens back to a bucket, which is never more than full.
---
--- Each call gives back: a caller that retries gives back twice. A bucket that is full again is forgotten.
--- @use token_bucket
--- @key    bucket      string[gcra]        the subject's bucket: when it will be full
--- @arg    limit       count[1..1000000]   tokens gained in a period
--- @arg    period      duration[1us..3650d] time in which limit tokens are gained
--- @arg    burst       count[1..1000000]?  most tokens the bucket holds; limit when absent
--- @arg    cost        count[1..1000000]=1 tokens to give back
--- @result refunded    bool                whether the bucket was not full, so that there was room for some
--- @result remaining   count[0..1000000]   whole tokens left after the call: 8 when 2 of 10 are taken still
--- @result reset_after duration            wait until the bucket is full; 0 when it is
--- @error  RLARG                           burst takes longer than 100 years to gain
--- @error  RLSTATE                         the key's value is no time of a bucket, or it never expires
local function gcra_refund(bucket, limit, period_us, burst, cost)
  return token_bucket.refund(bucket, limit, period_us, burst or limit, cost)
end
