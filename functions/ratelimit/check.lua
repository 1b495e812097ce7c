--- Decides up to 16 limits together, for one subject or several: all are charged, or none.
---
--- A refused call writes nothing: the minute's limit is not charged for a request that the hour's limit refuses. Each
--- limit counts as the function of its kind does, in a key of its own. The same kind, window and name is the same limit in
--- every call, and in those of the function of its kind.
---
--- A receipt is the request's own ID. One that was counted less than dedup ago pays only for what weight exceeds that which
--- it has paid, and for limits of all subjects. Receipts belong to the subject, not to a limit, so calls with other limits
--- recognize them. The resolution of retry_after is that of the limit with the longest wait.
--- @use clock limit limit_rows receipts
--- @key    known          string[receipt:<receipt>] the receipt, if it was counted
--- @arg    limits         group(limit)[1..16]     limits that are decided together
--- @arg    weight         count[1..1000000000000]=1 multiplies every cost except that of a sliding_log
--- @arg    receipt        text[256]?               the request's own ID; without one, every call counts
--- @arg    dedup          duration[1ms..3650d]?    how long a receipt is known; the longest window when omitted
--- @arg    look           bool?                    only to look: the answer is that of the call, and nothing is charged
--- @result allowed        bool                     whether every limit allowed the call, so that every cost was charged
--- @result duplicate      bool                     whether the receipt was known
--- @result refused        count[0..16]             number of limits that refused: 1 of 2; 0 when allowed
--- @result retry_after    duration                 wait until every limit allows the call: the longest of their waits; 0 when allowed
--- @result at             time                     when it was decided, for refund; the epoch if neither a limit nor a receipt needed the clock
--- @result limits         group(limit)             one result per limit, in the order of the call
--- @error  RLARG                                   two rows are the same limit, or a limit's arguments contradict each other
--- @error  RLSTATE                                 a key holds data that its kind did not write
local function check(known, limits, limits_state, weight, receipt, dedup_us, look)
  local now_us = receipt and clock.now_us() or limit_rows.now_us(limits)
  dedup_us = dedup_us or receipt and limit_rows.longest_us(limits)
  local repeated, unreadable = receipts.find(receipt and known, now_us, dedup_us)
  if repeated == nil then
    return nil, unreadable
  end
  local all, refused, wait_us = limit_rows.check(limits, limits_state, weight, repeated and repeated.paid or nil, now_us, look and '' or nil)
  if not all then
    return nil, refused
  elseif refused > 0 then
    return false, repeated ~= false, refused, wait_us, now_us, all
  end
  if look then
    return true, repeated ~= false, 0, 0, now_us, all
  end
  local any_cost = limit_rows.charge(limits, limits_state, all, now_us)
  if repeated and weight > repeated.paid then
    receipts.add_repeat(known, repeated, weight, limit_rows.none)
  elseif receipt and not repeated and any_cost then -- a call that pays nothing must not give a later one a free pass
    receipts.add(known, now_us, dedup_us, weight, limit_rows.none)
  end
  return true, repeated ~= false, 0, 0, now_us, all
end
