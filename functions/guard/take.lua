--- Charges as much as one limit has left, up to most: for a process that takes tokens of a hot limit in batches.
---
--- The limit's key is that of admit, so calls of both count together. A call that takes n charges what n requests would.
--- Refund what was not used with refund, most as its weight, and expires.
--- @use clock limit limit_rows
--- @key    bucket         string[block]            the limit's subject, which begins its key; a block of it does not matter
--- @arg    limits         packed(limit)[1..1]      the limit: of cost 1, and not a sliding_log
--- @arg    most           count[1..1000000000000]  most to charge; more than the limit admits at once charges at most that
--- @must   limits.cost be 1
--- @must   limits.kind not be sliding_log or concurrency: only kinds that charge several at once
--- @must   limits.previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   limits.after be above now: the caller's clock is more than a period behind the server's
--- @result allowed        bool                     whether anything was charged
--- @result taken          count[0..1000000000000]  the amount charged: 3 when 3 were left and most is 10
--- @result remaining      count[0..1000000000000]  what is left after the call
--- @result reset_after    duration                 wait until the limit has its full capacity again; 0 when it has
--- @result retry_after    duration                 wait until anything would be charged; 0 when allowed
--- @result expires        time                     when the charge no longer counts: a refund must come before; the epoch unless allowed
--- @error  RLARG                                   the limit charges more than 1 or counts requests, or its arguments contradict each other
--- @error  RLSTATE                                 the limit's key holds data that its kind did not write
local function take(bucket, limits, limits_state, most) -- rlfunc:ignore unused-parameter the limit's key begins as the bucket does
  local row = limits[1]
  local now_us, cost = clock.now_us(), math.min(most, row.burst)
  local rows, failure = limit_rows.check(limits, limits_state, cost, false, true, now_us)
  local result = rows and rows[1]
  if result and not result.allowed and cost > 1 then
    cost = math.max(result.remaining, 1)
    rows, failure = limit_rows.check(limits, limits_state, cost, false, true, now_us)
    result = rows and rows[1]
  end
  if not result then
    return nil, failure
  end
  if not result.allowed then
    return false, 0, result.remaining, result.reset_after_us, result.retry_after_us, 0
  end
  return true, cost, result.remaining, result.reset_after_us, 0, now_us - now_us % 1000 + result.reset_after_us
end
