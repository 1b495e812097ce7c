--- Extends a holder's lease, if it has not ended; a shorter lease than it has left changes nothing.
--- @use clock holder_set
--- @key    bucket      hash[holders]       the holders, by name
--- @key    leases      zset[leases]        the places, by the time that they end
--- @arg    holder      text[256]           the holder's name
--- @arg    lease       duration[1ms..1d]   how long the place is kept from now on
--- @arg    fence       count=0             the fence of the acquisition to renew; any when 0
--- @result outcome     enum(renewed,not_held,superseded) not_held: released, evicted, or the lease has ended. superseded: the
---     holder has a later acquisition
--- @result expires_after duration          what the lease has left now: 30s; 0 when not renewed
--- @refused outcome not_held superseded
--- @error  RLSTATE                         a key holds what is not a holder or a lease
local function renew(bucket, leases, holder, lease_us, fence)
  local now_us = clock.now_us()
  local set, mine = holder_set.open(bucket, leases, holder, now_us)
  if not set then
    return nil, mine
  end
  local outcome = holder_set.owner(mine, fence)
  if outcome ~= 'held' then
    return outcome, 0
  end
  holder_set.extend(set, mine, now_us + lease_us)
  return 'renewed', mine.ends_us - now_us
end
