--- Releases the lock, if owner has it. The last fence is kept for an hour.
--- @use clock lock_lease
--- @key    lock        hash[lock]  the owner, the end of its lease and the last fence
--- @arg    owner       text[64]    the owner
--- @result released    bool        false: released before, or the lease has ended, so another owner may have worked meanwhile
--- @refused released
--- @error  RLSTATE                 the key holds no lock
local function release(lock, owner)
  local now_us = clock.now_us()
  local lease, unreadable = lock_lease.read(lock, now_us)
  if not lease then
    return nil, unreadable
  end
  if lease.owner ~= owner then
    return false
  end
  lock_lease.store(lock, now_us, '', now_us, lease.fence)
  return true
end
