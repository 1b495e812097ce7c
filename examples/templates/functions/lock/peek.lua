--- Returns the lock's owner; writes nothing.
--- @use clock lock_lease
--- @flags  no-writes
--- @key    lock          hash[lock]   the owner, the end of its lease and the last fence
--- @result owner         text[0..64]  the owner; empty if the lock is free
--- @result fence         count        the last fence, 1767323045678901; 0 if none is known
--- @result expires_after duration     what the owner's lease has left; 0 if the lock is free
--- @error  RLSTATE                    the key holds no lock
local function peek(lock)
  local now_us = clock.now_us()
  local lease, unreadable = lock_lease.read(lock, now_us)
  if not lease then
    return nil, unreadable
  end
  return lease.owner, lease.fence, math.max(lease.ends_us - now_us, 0)
end
