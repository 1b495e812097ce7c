--- Ends a holder's lease for an operator: its place is free at once, and its next renewal reports not_held.
---
--- The holder's program learns of it only then: a resource that must not be used by both checks the fence.
--- @use clock holder_set
--- @key    bucket      any[holders]        the holders: a string, or a zset if there are many
--- @arg    holder      text[256]           the holder's name, as peek lists it
--- @result evicted     bool                whether it had a place
--- @result fence       count               the fence of the acquisition that ended; 0 without one
--- @error  RLSTATE                         the key holds what is not a set of holders
local function evict(bucket, holder)
  local outcome, fence = holder_set.release(bucket, holder, 0, clock.now_us())
  if not outcome then
    return nil, fence
  end
  return outcome == 'released', fence
end
