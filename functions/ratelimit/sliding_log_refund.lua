--- Removes the admission of a receipt from the log, as if the request had not come.
---
--- The log stays exact: exactly that admission's entry is removed, and the same receipt later counts again. A
--- refreshed receipt is not refunded, because the time of its admission is no longer known.
--- @use window_log_write receipt_set
--- @key    bucket      list[log]           the subject's admissions, oldest first
--- @key    receipts    zset[receipts]      receipts that were counted, by time
--- @arg    receipt     text[256]           the request's own ID
--- @result refunded    bool                whether the receipt was known and is now forgotten: its admission no longer counts
local function sliding_log_refund(bucket, receipts, receipt)
  local admitted_us = receipt_set.admitted_us(receipts, receipt)
  if not admitted_us then
    return false
  end
  window_log_write.remove(bucket, admitted_us)
  receipt_set.forget(receipts, receipt)
  return true
end
