--- Gives back what a receipt has reserved: nothing was spent.
---
--- The receipt is forgotten, so a reservation with it is judged anew, and a settlement is recorded as of an unknown one.
--- What is settled stays.
--- @use clock spending charging
--- @key    bucket      hash[charges]       the subject's charges
--- @key    holds       zset[holds]         charges with a hold that are not settled, by its end
--- @arg    receipt     text[256]           the reservation's receipt
--- @result outcome     enum(cancelled,settled,lapsed,unknown) cancelled: given back. settled: it is spent, and stays. lapsed: the
---     estimate counted no more. unknown: nothing is known of the receipt
--- @result given_back  micros              what was given back: the estimate when cancelled; 0 otherwise
--- @error  RLARG                           more than 2^53 micros would be spent in a window
--- @error  RLSTATE                         a key holds what is no charge or no state of charges
local function cancel(bucket, holds, receipt)
  local state, number = spending.open(bucket, holds, receipt, {}, clock.now_us())
  if not state then
    return nil, number
  end
  local charge, failure = charging.find(bucket, state, number)
  if failure then
    return nil, failure
  end
  if not charge then
    return 'unknown', 0
  end
  if charge.status ~= 'reserved' then
    return charge.status, 0
  end
  failure = charging.change(bucket, holds, state, charge, 'gone', 0)
  if failure then
    return nil, failure
  end
  return 'cancelled', charge.amount_micros
end
