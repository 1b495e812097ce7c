--- A lock in one hash: its owner, when the lease ends, and the fence of the last acquisition.
---
--- A fence is the clock in microseconds, or the last fence + 1 if that is greater. The last fence is kept for an hour after a
--- lease, so fences also grow if the clock is set back by less. A lease that ends more than two days ahead, twice the longest one,
--- is from a wrong clock, and is over.
--- @use clock refusal
--- @lib lock_lease
--- @state lock_lease 1 fields owner, ends_us and fence
local lock_lease = {}

local keep_us = 3600000000
local most_ahead_us = 172800000000

-- Returns the lease on a lock, with owner '' if none has it. Or nil and a refusal.
function lock_lease.read(lock, now_us)
  local found = redis.call('HMGET', lock, 'owner', 'ends_us', 'fence')
  local owner, ends_us, fence = found[1], clock.parse_us(found[2] or '0'), clock.parse_us(found[3] or '0')
  if not ends_us or not fence then
    return nil, refusal.state(lock, 'holds no lock')
  end
  if not owner or ends_us <= now_us or ends_us - now_us > most_ahead_us then
    return {owner = '', ends_us = 0, fence = fence}
  end
  return {owner = owner, ends_us = ends_us, fence = fence}
end

-- Stores the lease on a lock.
function lock_lease.store(lock, now_us, owner, ends_us, fence)
  redis.call('HSET', lock, 'owner', owner, 'ends_us', clock.text(ends_us), 'fence', clock.text(fence))
  clock.extend(lock, ends_us - now_us + keep_us)
end

return lock_lease
