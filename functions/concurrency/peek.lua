--- Lists the holders of a subject, at most the 100 whose leases end first; changes nothing.
--- @use clock holder_set
--- @flags  no-writes
--- @key    bucket      any[holders]        the holders: a string, or a zset if there are many
--- @result in_use      count               places in use: 3
--- @result fence       count               the fence of the latest acquisition, 1767323045678901; 0 if none is known
--- @result holders     group               the holders, by the time that their leases end
--- @result holders.holder text[256]        the holder's name
--- @result holders.fence count             its fencing token
--- @result holders.weight count[1..1000]   places that it takes
--- @result holders.expires_after duration  what its lease has left: more than 0
--- @error  RLSTATE                         the key holds what is not a set of holders
local function peek(bucket)
  local rows, set = holder_set.list(bucket, clock.now_us())
  if not rows then
    return nil, set
  end
  return set.in_use, set.fence, rows
end
