--- Admits a request while fewer than limit were admitted in the window that ends now.
---
--- Exact: no window of that length, wherever it begins, ever holds more than limit admissions. A refused call writes
--- nothing.
---
--- A receipt is the request's own ID. A receipt that was seen less than dedup ago is allowed and not counted again,
--- even when the window is full. So a double click or a network retry costs one.
---
--- Callers with other limits, windows and dedups may share the bucket. Each applies its own limit to the admissions of
--- all callers since its own first admission. Of earlier admissions it counts those that the other callers still need.
--- The bucket keeps the longest window, the highest limit and the longest dedup of its callers until it has been idle
--- that long.
--- @use clock window_log_write receipt_set window_log
--- @key    bucket      list[log]           the subject's admissions, oldest first
--- @key    receipts    zset[receipts]      receipts that were counted, by time
--- @arg    limit       count[1..1000000]   most admissions in a window
--- @arg    window      duration[1us..3650d] length of the window
--- @arg    receipt     text[256]?          the request's own ID; without one, every call counts
--- @arg    dedup       duration[1us..3650d]? how long a receipt is known; the window when omitted
--- @arg    refresh     bool?               whether a duplicate renews its receipt: then one receipt could pass forever
--- @result allowed     bool                whether the request may pass
--- @result duplicate   bool                whether its receipt was known, so that it was not counted
--- @result count       count[0..1000001]   admissions inside the window after the call: 3 after the third request; at most one more than
---     the highest limit of the callers
--- @result remaining   count[0..1000000]   admissions left in the window: 7 when 3 of 10 are used; 0 when refused
--- @result reset_after duration            wait until the window is empty: the whole window right after an admission; 0 when empty
--- @result retry_after duration            wait until a request passes, exact to the microsecond; 0 when allowed
--- @error  RLSTATE                         the log holds an entry that is not a time
local function sliding_log(bucket, receipts, limit, window_us, receipt, dedup_us, refresh)
  local clock_us, known_us = clock.now_us(), dedup_us or window_us
  local allowed, left, reset_us, wait_us, count, now_us, retention, length, expired, oldest =
    window_log.check(bucket, limit, window_us, 1, clock_us)
  if allowed == nil then
    return nil, left
  end
  local ahead_us = now_us - clock_us
  if receipt and receipt_set.knows(receipts, receipt, now_us, known_us) then
    if refresh then
      receipt_set.renew(receipts, receipt, now_us, known_us, ahead_us)
    end
    return true, true, count, left, reset_us, 0
  elseif not allowed then
    return false, false, count, 0, reset_us, wait_us
  end

  window_log_write.append(bucket, limit, window_us, clock_us, now_us, retention, length, expired, oldest)
  if receipt then
    receipt_set.add(receipts, receipt, now_us, known_us, ahead_us)
  end
  return true, false, count + 1, left - 1, window_us + ahead_us, 0
end
