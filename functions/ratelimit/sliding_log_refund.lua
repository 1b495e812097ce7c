--- Takes the admission of a receipt out of the log, as if the request had not come.
---
--- The log stays exact: it is that admission's entry that goes, and the receipt counts anew when it comes again. A receipt
--- that was refreshed is not refunded: its time is that of the refresh, and when it was admitted is not known any more.
--- @use log_entry receipt_set
--- @key    bucket      list[log]           the subject's admissions, oldest first
--- @key    receipts    zset[receipts]      the receipts that were counted, by time
--- @arg    receipt     text[256]           the request's own ID
--- @result refunded    bool                whether the receipt was known, and now is not: its admission does not count
local function sliding_log_refund(bucket, receipts, receipt)
  local admitted_us = receipt_set.admitted_us(receipts, receipt)
  if not admitted_us then
    return false
  end
  log_entry.remove(bucket, admitted_us)
  receipt_set.forget(receipts, receipt)
  return true
end
