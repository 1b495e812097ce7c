--- Extends a holder's lease, if it has not ended; a shorter lease than it has left changes nothing.
--- @use clock holder_set
--- @key    bucket      any[holders]        the holders: a string, or a zset if there are many
--- @arg    holder      text[256]           the holder's name
--- @arg    lease       duration[1ms..1d]   how long the place is kept from now on
--- @arg    fence       count=0             the fence of the acquisition to renew; any when 0
--- @result outcome     enum(renewed,not_held,superseded) not_held: released, evicted, or the lease has ended. superseded: the
---     holder has a later acquisition
--- @result expires_after duration          what the lease has left now: 30s; 0 when not renewed
--- @refused outcome not_held superseded
--- @error  RLSTATE                         the key holds what is not a set of holders
local function renew(bucket, holder, lease_us, fence)
  return holder_set.renew(bucket, holder, fence, lease_us, clock.now_us())
end
