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
  local outcome, failure = holder_set.release(bucket, holder, fence, clock.now_us())
  if not outcome then
    return nil, failure
  end
  return outcome
end
