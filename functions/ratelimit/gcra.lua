--- Takes cost tokens from a bucket that steadily gains limit tokens per period and holds at most burst.
---
--- Exact over the long run: 7 per minute is 70,000 in 10,000 minutes. A refused call writes nothing. The resolution of
--- retry_after is a millisecond, because the key expires when the bucket is full. If the clock is set back, calls are
--- refused that much longer; if it is set back by more than a period, the bucket starts full. Another period is another
--- bucket. Callers with other limits share it: each sees the tokens that were taken, and applies its own limit, until the
--- bucket is full for the one who took last. Meanwhile it gains tokens at that one's rate, so retry_after is exact only
--- where the limits are the same.
--- @use one_limit token_bucket
--- @key    bucket      string[gcra:<period>:<name>] the subject's bucket: how far from full it is
--- @arg    limit       count[1..1000000000000] tokens gained per period
--- @arg    period      duration[1ms..3650d] time in which limit tokens are gained
--- @arg    burst       count[1..1000000000000]? most tokens the bucket holds; limit when omitted
--- @arg    name        text[64]?           tells limits of one subject apart that have the same window
--- @arg    cost        count[0..1000000000000]=1 tokens to take; 0 only looks
--- @arg    at_most     bool?               whether to take as many tokens as there are, up to cost: for consumers that take work in batches
--- @must   burst == nil or burst * period_us <= limit * 3153600000000000: a bucket must fill within 100 years
--- @must   cost <= (burst or limit) or at_most: it can never be allowed
--- @result allowed     bool                whether cost was taken; with at_most, whether any token was
--- @result remaining   count[0..1000000000000] whole tokens left after the call: 7 when 3 of 10 are taken
--- @result reset_after duration            wait until the bucket is full; 0 when it is
--- @result retry_after duration            wait until cost would be allowed, exact to the millisecond; 0 when allowed
--- @result taken       count[0..1000000000000] the tokens taken: cost, or 3 when 3 were left and at_most is set; 0 when refused
--- @result at          time                when it was decided, for refund; the epoch unless at_most is set
--- @error  RLARG                           cost exceeds burst, or limit and period have no short ratio
--- @error  RLSTATE                         the key holds data that is not a bucket, or never expires
local function gcra(bucket, limit, period_us, burst, name, cost, at_most) -- rlfunc:ignore shortened-ttl full for the caller who took last
  local row, refused = one_limit.row(token_bucket, limit, period_us, burst)
  if not row then
    return nil, refused
  end
  local one, failure = one_limit.take(row, bucket, cost, at_most)
  if not one then
    return nil, failure
  end
  return one.allowed, one.remaining, one.reset_after_us, one.retry_after_us, one.taken, one.at_us
end
