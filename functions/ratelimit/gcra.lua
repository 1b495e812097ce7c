--- Takes cost tokens from a bucket that steadily gains limit tokens per period and holds at most burst.
---
--- Exact over the long run: 7 per minute is 70,000 in 10,000 minutes. A refused call writes nothing, and a cost of 0
--- takes nothing. The resolution of retry_after is a microsecond. Where period / limit is whole milliseconds, the key's
--- expiry holds the state and the resolution is a millisecond. If the clock is set back, calls are refused that much
--- longer. A bucket that would take more than twice its writer's burst to fill was written by a wrong clock, and starts
--- full. Calls with other limits may share the bucket: each sees all tokens that were taken, and applies its own limit.
--- @use token_bucket
--- @key    bucket      string[gcra]        the subject's bucket: when it will be full
--- @arg    limit       count[1..1000000000000] tokens gained per period
--- @arg    period      duration[1us..3650d] time in which limit tokens are gained
--- @arg    burst       count[1..1000000000000]? most tokens the bucket holds; limit when omitted
--- @arg    cost        count[0..1000000000000]=1 tokens to take; 0 takes nothing
--- @must   burst * period be at most limit * 36500d: a bucket must fill within 100 years
--- @must   cost be at most burst: it can never be allowed
--- @must   cost be at most limit unless burst: it can never be allowed
--- @result allowed     bool                whether cost was taken
--- @result remaining   count[0..1000000000000] whole tokens left after the call: 7 when 3 of 10 are taken
--- @result reset_after duration            wait until the bucket is full; 0 when it is
--- @result retry_after duration            wait until cost would be allowed, exact to the resolution; 0 when allowed
--- @error  RLARG                           cost exceeds burst, or burst takes longer than 100 years to gain
--- @error  RLSTATE                         the key holds data that is not a bucket, or never expires
local function gcra(bucket, limit, period_us, burst, cost)
  burst = burst or limit
  return token_bucket.take(bucket, token_bucket.interval_ms(limit, period_us, burst), limit, period_us, burst, cost)
end
