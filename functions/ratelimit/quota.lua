--- Charges cost while at most limit is charged in a period of the calendar, such as a month in Berlin.
---
--- Redis has no time zones, so the client sends the boundaries of three periods, which package calendar finds, and the
--- server's clock decides between them. So a client whose clock is less than a period wrong counts in the right one. A
--- refused call writes nothing. The resolution of retry_after is a microsecond. If the server's clock is set back into the previous period, that one's count holds. Callers whose periods
--- differ have a count each. Callers with other limits share it, and each applies its own limit.
--- @use one_limit period_count
--- @key    bucket      hash[quota:<name>]  what the subject used, by period
--- @arg    limit       count[1..1000000000000] most that may be charged in a period
--- @arg    previous    time                when the period before the one that the client's clock is in starts
--- @arg    start       time                when the one that the client's clock is in starts
--- @arg    next        time                when the next one starts
--- @arg    after       time                when the one after that starts
--- @arg    name        text[64]?           tells limits of one subject apart that have the same periods
--- @arg    cost        count[0..1000000000000]=1 amount to charge; 0 only looks
--- @arg    at_most     bool?               whether to charge as much as is left, up to cost: for consumers that take work in batches
--- @must   cost <= limit or at_most: it can never be allowed
--- @must   previous_us < start_us and start_us < next_us and next_us < after_us: periods follow each other
--- @must   after_us <= previous_us + 315360000000000: the periods take 10 years at most
--- @result allowed     bool                whether cost was charged; with at_most, whether anything was
--- @result remaining   count[0..1000000000000] what is left after the call: 7 when 3 of 10 are used
--- @result reset_after duration            wait until the period ends; 0 when nothing is used
--- @result retry_after duration            wait until cost would be allowed, exact to the microsecond; 0 when allowed
--- @result taken       count[0..1000000000000] the amount charged: cost, or 3 when 3 were left and at_most is set; 0 when refused
--- @result at          time                when it was decided, for refund
--- @error  RLARG                           cost exceeds limit, or the server's clock is in none of the periods
--- @error  RLSTATE                         the key holds data that is not a count of periods
local function quota(bucket, limit, previous_us, start_us, next_us, after_us, name, cost, at_most)
  local row = {
    limit = limit, most = limit, previous_us = previous_us, start_us = start_us, next_us = next_us, after_us = after_us,
    needs_clock = true, check = period_count.check, charge = period_count.charge,
  }
  local one, failure = one_limit.take(row, bucket, cost, at_most)
  if not one then
    return nil, failure
  end
  return one.allowed, one.remaining, one.reset_after_us, one.retry_after_us, one.taken, one.at_us
end
