--- Admits a request while fewer than limit were admitted in the window that ends now.
---
--- Exact: no window of that length ever holds more than limit. A refused request writes nothing. If the clock is set back,
--- time stands still until it has caught up; entries that are more than a window ahead are ignored. Another window is
--- another log. Callers with other limits share it, and each applies its own limit.
---
--- A receipt is the request's own ID. One that was counted less than dedup ago is allowed and not counted again, even when
--- the window is full. So a double click or a network retry costs one. A duplicate does not renew it. Each limit has
--- receipts of its own: to count a request of several limits once, or to refund it by its receipt, call check.
--- @use clock receipts window_log one_limit
--- @key    bucket      list[sliding_log:<window>:<name>] the subject's admissions, oldest first
--- @key    known       string[receipt:<window>:<name>:<receipt>]?receipt the receipt, if it was counted
--- @arg    limit       count[1..1000000]   most admissions in a window
--- @arg    window      duration[1ms..3650d] length of the window
--- @arg    name        text[64]?           tells limits of one subject apart that have the same window
--- @arg    receipt     text[256]?          the request's own ID; without one, every call counts
--- @arg    dedup       duration[1ms..3650d]? how long a receipt is known; the window when omitted
--- @arg    cost        count[0..1]=1       1 admits a request; 0 only looks
--- @result allowed     bool                whether the request may pass
--- @result duplicate   bool                whether its receipt was known, so that it was not counted
--- @result count       count[0..1000000]   admissions inside the window after the call: 3 after the third request
--- @result remaining   count[0..1000000]   admissions left in the window: 7 when 3 of 10 are used; 0 when refused
--- @result reset_after duration            wait until the window is empty: the whole window right after an admission; 0 when empty
--- @result retry_after duration            wait until a request passes, exact to the microsecond; 0 when allowed
--- @result at          time                when it was decided, for refund
--- @error  RLSTATE                         the log holds an entry that is not a time, or the receipt's key holds none
local function sliding_log(bucket, known, limit, window_us, name, receipt, dedup_us, cost)
  local now_us, row = clock.now_us(), one_limit.row(window_log, limit, window_us)
  local repeated, unreadable = receipts.find(known, now_us, dedup_us or window_us)
  if repeated == nil then
    return nil, unreadable
  end
  local one, failure = one_limit.take(row, bucket, repeated and 0 or cost, false, now_us)
  if not one then
    return nil, failure
  end
  if known and one.taken > 0 then
    receipts.add(known, now_us, dedup_us or window_us, 1, {})
  end
  return repeated and true or one.allowed, repeated ~= false, one.count, one.remaining, one.reset_after_us, repeated and 0 or one.retry_after_us, now_us
end
