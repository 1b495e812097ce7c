--- Acquires the lock, if no other owner has it.
---
--- The same owner again keeps the lock and its fence, and its lease ends no sooner than before. So repeat a call whose reply was
--- lost. A refused call writes nothing.
--- @use clock lock_lease
--- @key    lock        hash[lock]          the owner, the end of its lease and the last fence
--- @arg    owner       text[64]            the owner, unique to one acquisition: fcall.NewToken in Go
--- @arg    lease       duration[1ms..1d]   how long the lock is kept unless it is extended or released
--- @result allowed     bool                whether owner has the lock now
--- @result fence       count               fencing number, greater than all earlier ones: 1767323045678901; 0 when refused
--- @result retry_after duration            what the other owner's lease has left; 0 when allowed
--- @error  RLSTATE                         the key holds no lock
local function acquire(lock, owner, lease_us)
  local now_us = clock.now_us()
  local lease, unreadable = lock_lease.read(lock, now_us)
  if not lease then
    return nil, unreadable
  end
  local fence = lease.fence
  if lease.owner == '' then
    fence = math.max(fence + 1, now_us)
  elseif lease.owner ~= owner then
    return false, 0, lease.ends_us - now_us
  end
  lock_lease.store(lock, now_us, owner, math.max(lease.ends_us, now_us + lease_us), fence)
  return true, fence, 0
end
