--- Charges as much as one limit has left, up to most: for a process that takes tokens of a hot limit in batches.
---
--- The limit's key is that of admit, so calls of both count together. A call that takes n charges what n requests would.
--- Refund what was not used with refund, most as its weight. A gcra that callers with other limits share counts until it is full for
--- the one who took last.
--- @use limit one_limit
--- @key    bucket         string[block]            the limit's subject, which begins its key; a block of it does not matter
--- @arg    limits         group(limit)[1..1]      the limit: of cost 1, and not a sliding_log
--- @arg    most           count[1..1000000000000]  most to charge; more than the limit admits at once charges at most that
--- @must   limits.cost == 1: most says how much
--- @must   limits.kind ~= 'sliding_log' and limits.kind ~= 'concurrency': only kinds that charge several at once
--- @result allowed        bool                     whether anything was charged
--- @result taken          count[0..1000000000000]  the amount charged: 3 when 3 were left and most is 10
--- @result remaining      count[0..1000000000000]  what is left after the call
--- @result reset_after    duration                 wait until the limit has its full capacity again; 0 when it has
--- @result retry_after    duration                 wait until anything would be charged; 0 when allowed
--- @result at             time                     when it was decided, for refund
--- @error  RLARG                                   the limit charges more than 1 or counts requests, or its arguments contradict each other
--- @error  RLSTATE                                 the limit's key holds data that its kind did not write
local function take(bucket, limits, limits_state, most) -- rlfunc:ignore shortened-ttl full for the caller who took last
  local one, failure = one_limit.take(limits[1], limits_state[1], most, true)
  if not one then
    return nil, failure
  end
  return one.allowed, one.taken, one.remaining, one.reset_after_us, one.retry_after_us, one.at_us
end
