--- Lists the holders of a subject, at most the 100 whose leases end first; changes nothing.
--- @use clock holder_set
--- @flags  no-writes
--- @key    bucket      hash[holders]       the holders, by name
--- @key    leases      zset[leases]        the places, by the time that they end
--- @result in_use      count               places in use: 3
--- @result fence       count               the fence of the latest acquisition, 1767323045678901; 0 if none is known
--- @result holders     group               the holders, by the time that their leases end
--- @result holders.holder text[256]        the holder's name
--- @result holders.fence count             its fencing token
--- @result holders.weight count[1..1000]   places that it takes
--- @result holders.expires_after duration  what its lease has left: more than 0
--- @error  RLSTATE                         a key holds what is not a holder or a lease
local function peek(bucket, leases)
  local now_us = clock.now_us()
  local set, no_set = holder_set.open(bucket, leases, '', now_us)
  if not set then
    return nil, no_set
  end
  local rows, unreadable = holder_set.list(set)
  if not rows then
    return nil, unreadable
  end
  return holder_set.in_use(set, 0), set.fence, rows
end
