--- Releases a holder's place.
--- @use clock holder_set
--- @key    bucket      hash[holders]       the holders, by name
--- @key    leases      zset[leases]        the places, by the time that they end
--- @arg    holder      text[256]           the holder's name
--- @arg    fence       count=0             the fence of the acquisition to release; any when 0
--- @result outcome     enum(released,not_held,superseded) not_held: released before, evicted, or the lease has ended.
---     superseded: the holder has a later acquisition, which keeps its place
--- @refused outcome not_held superseded
--- @error  RLSTATE                         a key holds what is not a holder or a lease
local function release(bucket, leases, holder, fence)
  local set, mine = holder_set.open(bucket, leases, holder, clock.now_us())
  if not set then
    return nil, mine
  end
  local outcome = holder_set.owner(mine, fence)
  if outcome ~= 'held' then
    return outcome
  end
  holder_set.remove(set, mine)
  return 'released'
end
