--- Returns what gcra would return, and writes nothing.
--- @use token_bucket
--- @flags  no-writes
--- @key    bucket      string[gcra]        the subject's bucket: when it will be full
--- @arg    limit       count[1..1000000000000] tokens gained per period
--- @arg    period      duration[1us..3650d] time in which limit tokens are gained
--- @arg    burst       count[1..1000000000000]? most tokens the bucket holds; limit when omitted
--- @arg    cost        count[0..1000000000000]=1 tokens that would be taken
--- @must   burst * period be at most limit * 36500d: a bucket must fill within 100 years
--- @must   cost be at most burst: it can never be allowed
--- @must   cost be at most limit unless burst: it can never be allowed
--- @result allowed     bool                whether cost would be taken
--- @result remaining   count[0..1000000000000] whole tokens in the bucket now: 10 in an untouched bucket of 10
--- @result reset_after duration            wait until the bucket is full; 0 when it is
--- @result retry_after duration            wait until cost would be allowed, exact to the resolution; 0 when allowed
--- @error  RLARG                           cost exceeds burst, or burst takes longer than 100 years to gain
--- @error  RLSTATE                         the key holds data that is not a bucket, or never expires
local function gcra_peek(bucket, limit, period_us, burst, cost)
  burst = burst or limit
  local interval_ms = token_bucket.interval_ms(limit, period_us, burst)
  local allowed, left, full_us, wait_us = token_bucket.check(bucket, interval_ms, limit, period_us, burst, cost)
  if allowed == nil then
    return nil, left
  end
  return allowed, left, full_us, wait_us
end
