--- Extends the lease of the lock's owner, if it has not ended. A shorter lease than it has left changes nothing.
--- @use clock lock_lease
--- @key    lock          hash[lock]         the owner, the end of its lease and the last fence
--- @arg    owner         text[64]           the owner
--- @arg    lease         duration[1ms..1d]  how long the lock is kept from now on
--- @result extended      bool               false: released, or the lease has ended, so another owner may have the lock
--- @result expires_after duration           what the lease has left now: 30s; 0 when not extended
--- @refused extended
--- @error  RLSTATE                          the key holds no lock
local function extend(lock, owner, lease_us)
  local now_us = clock.now_us()
  local lease, unreadable = lock_lease.read(lock, now_us)
  if not lease then
    return nil, unreadable
  end
  if lease.owner ~= owner then
    return false, 0
  end
  local ends_us = lease.ends_us
  if now_us + lease_us > ends_us then
    ends_us = now_us + lease_us
    lock_lease.store(lock, now_us, owner, ends_us, lease.fence)
  end
  return true, ends_us - now_us
end
