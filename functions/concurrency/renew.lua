--- Extends a holder's lease, if it has not ended; a shorter lease than it has left changes nothing.
--- @use clock holder_set fence_set
--- @key    bucket      zset[holders]       the holders, by the time that their leases end
--- @key    fences      hash[fences]        their fences
--- @arg    holder      text[256]           the holder's name
--- @arg    lease       duration[1ms..1d]   how long the place is kept from now on
--- @arg    fence       count=0             the fence of the acquisition to renew; any when 0
--- @result outcome     enum(renewed,not_held,superseded) not_held: released, or the lease has ended. superseded: the
---     holder has a later acquisition
--- @result expires_after duration          what the lease has left now: 30s; 0 when not renewed
--- @refused outcome not_held superseded
--- @error  RLSTATE                         a key holds another type
local function renew(bucket, fences, holder, lease_us, fence)
  local now_us = clock.now_us()
  local own_ends_us = holder_set.ends_us(bucket, holder, now_us)
  local outcome = fence_set.check(fences, holder, fence, own_ends_us)
  if outcome ~= 'held' then
    return outcome, 0
  elseif own_ends_us < now_us + lease_us then
    holder_set.extend(bucket, holder, now_us + lease_us, now_us)
    fence_set.keep(fences, now_us + lease_us, now_us)
  end
  return 'renewed', math.max(own_ends_us - now_us, lease_us)
end
