--- Gives back what a receipt has reserved: nothing was spent.
---
--- The receipt is forgotten, so a reservation with it is judged anew, and a settlement is recorded as of an unknown one.
--- What is settled stays.
--- @use clock reserving
--- @key    bucket      hash[charges]       the subject's charges
--- @arg    receipt     text[256]           the reservation's receipt
--- @result outcome     enum(cancelled,settled,lapsed,unknown) cancelled: given back. settled: it is spent, and stays. lapsed: the
---     estimate counted no more. unknown: nothing is known of the receipt
--- @result given_back  micros              what was given back: the estimate when cancelled; 0 otherwise
--- @error  RLARG                           more than 2^53 - 1 micros would be kept of the subject
--- @error  RLSTATE                         a key holds what is no charge or no state of charges
local function cancel(bucket, receipt)
  return reserving.cancel(bucket, receipt, clock.now_us())
end
