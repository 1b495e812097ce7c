--- Takes cost tokens from a bucket that gains limit tokens a period, steadily, and holds burst at most.
---
--- Exact over the long run: 7 per minute is 70,000 in 10,000 minutes. A refused call writes nothing, and a cost of 0 only
--- looks. The tick of retry_after is a microsecond; where period / limit is whole milliseconds the key's expiry is the
--- state, and the tick is a millisecond. A clock that is set back refuses for as much longer; a bucket that would take longer
--- to fill than two bursts of the call that wrote it is a broken clock's, and starts full. Calls with other limits may share
--- the bucket: what all take is missing from it, and each call is held to its own limit.
--- @use token_bucket
--- @key    bucket      string[gcra]        the subject's bucket: when it will be full
--- @arg    limit       count[1..1000000]   tokens gained in a period
--- @arg    period      duration[1us..3650d] time in which limit tokens are gained
--- @arg    burst       count[1..1000000]?  most tokens the bucket holds; limit when absent
--- @arg    cost        count[0..1000000]=1 tokens to take; 0 only looks
--- @result allowed     bool                whether cost was taken
--- @result remaining   count[0..1000000]   whole tokens left after the call: 7 when 3 of 10 are taken
--- @result reset_after duration            wait until the bucket is full; 0 when it is
--- @result retry_after duration            wait until cost would be allowed, exact to the tick; 0 when allowed
--- @error  RLARG                           cost exceeds burst, or burst takes longer than 100 years to gain
--- @error  RLSTATE                         the key's value is no time of a bucket, or it never expires
local function gcra(bucket, limit, period_us, burst, cost)
  return token_bucket.take(bucket, limit, period_us, burst or limit, cost)
end
