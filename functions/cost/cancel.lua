--- Refunds what a receipt reserved: nothing was spent.
---
--- The receipt is forgotten: a reservation with it counts as a new one, and a settlement of it is recorded as unknown. A
--- settled charge remains.
--- @use clock cost_reservation charge_store
--- @subject                    whose money it is: a stable identity, never a session
--- @key    bucket      hash[charges:<unit>] the subject's charges
--- @arg    receipt     text[256]           receipt of the reservation
--- @arg    unit        text[32]?           unit of the account: tokens; money when omitted
--- @result outcome     enum(cancelled,settled,lapsed,unknown) cancelled: refunded. settled: already spent, and unchanged. lapsed: the
---     estimate no longer counted. unknown: the receipt is not known
--- @result refunded  micros              amount that was refunded: the estimate when cancelled; 0 otherwise
--- @error  RLARG                           the subject's stored charges would exceed 2^53 - 1 micros
--- @error  RLSTATE                         a key holds data that this library did not write
local function cancel(bucket, receipt, unit)
  local outcome, refunded_micros, state = cost_reservation.cancel(bucket, receipt, clock.now_us())
  if not outcome then
    return nil, refunded_micros
  end
  if state then
    charge_store.store(bucket, state)
  end
  return outcome, refunded_micros
end
