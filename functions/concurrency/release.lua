--- Releases a holder's place.
--- @use clock holder_set
--- @key    bucket      any[holders]        the holders: a string, or a zset if there are many
--- @arg    holder      text[256]           the holder's name
--- @arg    fence       count=0             the fence of the acquisition to release; any when 0
--- @result outcome     enum(released,not_held,superseded) not_held: released before, evicted, or the lease has ended.
---     superseded: the holder has a later acquisition, which keeps its place
--- @refused outcome not_held superseded
--- @error  RLSTATE                         the key holds what is not a set of holders
local function release(bucket, holder, fence)
  local set, mine = holder_set.open(bucket, holder, clock.now_us())
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
