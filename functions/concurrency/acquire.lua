--- Acquires a place for a holder if the places in use and this one fit the limit.
---
--- A holder has one place: the same holder again gets its own place back, with its first fence and weight, and the later of
--- both lease ends. A limit below what is in use ends no lease: calls are refused until enough places are free. If the
--- server's clock is set back, leases last that much longer: no place is given twice. A refused call writes nothing.
--- @use clock holder_set fence_set
--- @key    bucket      zset[holders]       the holders, by the time that their leases end
--- @key    fences      hash[fences]        their fences
--- @arg    holder      text[256]           the holder's name, unique to one acquisition unless it may share its place
--- @arg    limit       count[1..1000000]   most places in use at a time; each holder is stored
--- @arg    lease       duration[1ms..1d]   how long the place is kept without renewal
--- @arg    weight      count[1..1000]=1    places that the holder takes
--- @must   weight <= limit: it can never be allowed
--- @result allowed     bool                whether the holder has its place
--- @result held        bool                whether it had the place before this call
--- @result fence       count               the fencing token: greater than that of each earlier acquisition of the subject, 1767323045678901; 0 when refused
--- @result in_use      count               places in use after the call: 3, also above the limit if it was lowered
--- @result remaining   count[0..1000000]   places that are free after the call: 7 of 10
--- @result retry_after duration            wait until enough leases have ended, if no holder releases or renews; 0 when allowed
--- @error  RLARG                           weight exceeds limit
--- @error  RLSTATE                         a key holds another type
local function acquire(bucket, fences, holder, limit, lease_us, weight)
  local now_us = clock.now_us()
  local set, ends_us = holder_set.check(bucket, holder, weight, limit, now_us), now_us + lease_us
  if not set.allowed then
    return false, false, 0, set.in_use, set.left, set.wait_us
  elseif set.own_ends_us == 0 then
    local fence = fence_set.add(fences, holder, set.ended, ends_us, now_us)
    holder_set.add(set, holder, weight, ends_us)
    return true, false, fence, set.in_use + weight, set.left - weight, 0
  elseif ends_us > set.own_ends_us then
    holder_set.extend(bucket, holder, ends_us, now_us)
    fence_set.keep(fences, ends_us, now_us)
  end
  return true, true, fence_set.read(fences, ':' .. holder), set.in_use, set.left, 0
end
