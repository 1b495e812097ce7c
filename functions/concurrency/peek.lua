--- Lists the holders of a subject, at most the 100 whose leases end first; changes nothing.
--- @use clock holder_set fence_set
--- @flags  no-writes
--- @key    bucket      zset[holders]       the holders, by the time that their leases end
--- @key    fences      hash[fences]        their fences
--- @result in_use      count               places in use: 3
--- @result fence       count               the fence of the latest acquisition, 1767323045678901; 0 if none is known
--- @result holders     group               the holders, by the time that their leases end
--- @result holders.holder text[256]        the holder's name
--- @result holders.fence count             its fencing token
--- @result holders.weight count[1..1000]   places that it takes
--- @result holders.expires_after duration  what its lease has left: more than 0
--- @error  RLSTATE                         a key holds another type
local function peek(bucket, fences)
  local now_us = clock.now_us()
  local rows = holder_set.leases(bucket, now_us, 0, 100)
  for i = 1, #rows do
    rows[i].fence = fence_set.read(fences, ':' .. rows[i].holder)
  end
  return holder_set.count(bucket, now_us).in_use, fence_set.read(fences, 'last'), rows
end
