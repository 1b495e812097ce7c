--- Releases a holder's place, which is free at once.
---
--- With fence 0 an operator ends anybody's lease: its program learns of it at its next renewal, so a resource that must not be used by
--- both checks the fence.
--- @use clock holder_set fence_set
--- @key    bucket      zset[holders]       the holders, by the time that their leases end
--- @key    fences      hash[fences]        their fences
--- @arg    holder      text[256]           the holder's name
--- @arg    fence       count=0             the fence of the acquisition to release; any when 0
--- @result outcome     enum(released,not_held,superseded) not_held: released before, or the lease has ended.
---     superseded: the holder has a later acquisition, which keeps its place
--- @refused outcome not_held superseded
--- @error  RLSTATE                         a key holds another type
local function release(bucket, fences, holder, fence)
  local outcome = fence_set.check(fences, holder, fence, holder_set.ends_us(bucket, holder, clock.now_us()))
  if outcome == 'held' then
    holder_set.remove(bucket, holder)
    redis.call('HDEL', fences, ':' .. holder)
    return 'released'
  end
  return outcome
end
